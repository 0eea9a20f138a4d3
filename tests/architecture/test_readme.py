"""Every command of the README is run here, made small: what it says can be typed can be typed."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from loop.__main__ import main
from tests.loop.endpoint import careless_endpoint

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
SMALL = ("scale=smoke", "task.count=2", "rollout.group_size=1", "tracking=none")


def commands() -> list[str]:
    found = re.findall(r"^    ((?:python -m loop|make) .*?)(?:\s+# .*)?$", README, re.MULTILINE)
    return [" ".join(command.split()) for command in found]


@pytest.fixture(scope="module")
def runs_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Round 1 of the default run is there, as after `make evolve`."""
    folder = tmp_path_factory.mktemp("runs")
    assert main(["evolve", "+round=1", f"runs_dir='{folder}'", *SMALL]) == 0
    return folder


@pytest.fixture(scope="module")
def base_url() -> Iterator[str]:
    with careless_endpoint() as url:
        yield url


def test_make_targets_of_the_readme_are_there() -> None:
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"make (\w+)", README))

    assert {"evolve", "test", "check", "prove"} <= named <= targets


def test_readme_names_its_commands() -> None:
    assert len([command for command in commands() if command.startswith("python")]) >= 8


@pytest.mark.parametrize("command", [c for c in commands() if c.startswith("python")])
def test_command_of_the_readme_runs(
    command: str,
    runs_dir: Path,
    base_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    server = str(ROOT / "tests" / "servers" / "notes_server.py")
    entry = {"command": sys.executable, "args": [server]}
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"notes": entry}}))
    arguments = shlex.split(command)[3:]
    arguments = [part.replace("http://localhost:8000/v1", base_url) for part in arguments]
    if "--help" not in arguments:
        small = SMALL if arguments[0] == "evolve" else ("scale=smoke",)
        keys = {part.partition("=")[0] for part in arguments}
        arguments += [part for part in small if part.partition("=")[0] not in keys]
        arguments += [f"runs_dir='{runs_dir}'"] if arguments[0] == "evolve" else []

    status = main(arguments)

    shown = capsys.readouterr()
    assert status == 0, shown.err
    assert shown.out.strip()
