# Two commands do everything: `make evolve` runs a whole round, `make test` runs the tests.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: install evolve test check prove format clean

install: $(STAMP)

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
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
