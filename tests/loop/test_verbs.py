"""The verb table, and that help costs nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from components.records.config import Config
from loop.__main__ import main
from loop.verb_configs import MODELS
from loop.verbs import EXAMPLES, VERBS, find_verb, nearest

ROOT = Path(__file__).resolve().parents[2]


def test_every_verb_has_its_command_file_and_its_yaml() -> None:
    commands = {path.stem for path in (ROOT / "loop" / "commands").glob("*.py")} - {"__init__"}
    yamls = {path.stem for path in (ROOT / "conf").glob("*.yaml")}

    assert {verb.name for verb in VERBS} == commands == yamls


def test_every_verb_names_a_model_of_its_configuration() -> None:
    for verb in VERBS:
        assert issubclass(MODELS[verb.config], Config)


def test_help_lists_each_verb_on_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["--help"])

    lines = capsys.readouterr().out.splitlines()
    assert status == 0
    for verb in VERBS:
        assert sum(line.startswith(f"  {verb.name} ") for line in lines) == 1


def test_examples_name_verbs_that_there_are() -> None:
    for command, _ in EXAMPLES:
        assert find_verb(command.split()[3]) is not None


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from loop.__main__ import main; main(['--help']); "
        "print(sorted({name.partition('.')[0] for name in sys.modules} & "
        "{'hydra', 'omegaconf', 'pydantic', 'wandb', 'immutables', 'mcp', 'httpx', 'jinja2'}))"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert done.stdout.splitlines()[-1] == "[]"


def test_nearest_knows_the_end_of_a_dotted_key() -> None:
    keys = ["task.walk_length", "task.k", "rollout.concurrency"]

    assert nearest("concurency", keys) == "rollout.concurrency"
    assert nearest("tsk.k", keys) == "task.k"
    assert nearest("zzzz", keys) == ""
