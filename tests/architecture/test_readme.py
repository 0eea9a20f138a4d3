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
from tests.policy.tiny import save_tiny_chat

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
SMALL = (
    "policy=scripted", "scale=smoke", "task.count=2", "rollout.group_size=1", "tracking=none",
    "environment.services=[helpdesk,directory,mail]", "grow.tasks=1",
)  # fmt: skip
MODEL = (
    "policy.adapter=null", "harness.max_turns=4", "train.held_out_tasks=1", "train.frozen_layers=0",
    *SMALL[1:5], SMALL[6],
)  # fmt: skip
"""For a model of random weights."""
SMALLER = {
    "bench": ("scale=smoke",),
    "synthesize": (),
    "compose": ("task.count=2", "compute=local"),
    "certify": ("compute=local",),
    "evaluate": (
        "held_out.tasks=2", "held_out.max_drafts=12", "policy.adapter=null", "harness.max_turns=4",
    ),
    "train": (
        "gold.trajectories=2", "curve=[2]", "held_out.tasks=1", "harness.max_turns=4",
        "train.frozen_layers=0", "train.batch_size=1",
    ),
}  # fmt: skip
TAKES_RUNS = (
    "attribute", "evolve", "evaluate", "train", "show", "doctor", "synthesize", "bench", "compose",
)  # fmt: skip
FEW = re.compile(r"(?<=task\.count=)\d+")
NOTES = [
    {"name": name, "inputSchema": {"type": "object", "properties": {key: {"type": "string"}}}}
    for name, key in (("create_note", "title"), ("get_note", "note_id"), ("list_notes", "status"))
]
API = """
openapi: 3.0.3
info: {title: Notes, version: "1"}
paths:
  /notes/{note_id}:
    get:
      operationId: getNote
      parameters:
        - {name: note_id, in: path, required: true, schema: {type: string}}
      responses: {"200": {description: a note}}
"""


def commands() -> list[str]:
    found = re.findall(r"^    ((?:python -m loop|make) .*?)(?:\s+# .*)?$", README, re.MULTILINE)
    return [" ".join(command.split()) for command in found]


@pytest.fixture(scope="module")
def runs_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Round 1 of the default run is there, as after `make evolve`."""
    folder = tmp_path_factory.mktemp("runs")
    for more in (["run=default"], ["run=clean", "faults=none"]):
        assert main(["evolve", "+round=1", f"runs_dir='{folder}'", *more, *SMALL]) == 0
    return folder


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_chat(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def base_url() -> Iterator[str]:
    with careless_endpoint() as url:
        yield url


def _acts(arguments: list[str]) -> bool:
    """Return whether a command lets a model act that runs here."""
    words = ("policy.model=/", "+experiment=learn", "+experiment=warmstart")
    is_named = any(part.startswith(words) for part in arguments)
    return arguments[0] in ("evaluate", "train") or (arguments[0] == "evolve" and is_named)


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
    model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    server = str(ROOT / "tests" / "servers" / "notes_server.py")
    entry = {"command": sys.executable, "args": [server]}
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"notes": entry}}))
    (tmp_path / "fidelity.yaml").write_text(json.dumps({"mcpServers": {"notes": entry}}))
    listing = json.dumps({"server": "notes", "tools": NOTES})
    (tmp_path / "specs.jsonl").write_text(listing + "\n")
    (tmp_path / "api.yaml").write_text(API)
    (tmp_path / "chats.jsonl").write_text(json.dumps({"messages": []}) + "\n")
    arguments = shlex.split(command)[3:]
    arguments = [part.replace("http://localhost:8000/v1", base_url) for part in arguments]
    arguments = [part.replace("/models/my-model", str(model)) for part in arguments]
    arguments = [part.replace("runs/", f"{runs_dir}/") for part in arguments]
    verb = arguments[0]
    if verb in ("compose", "evolve"):
        arguments = [FEW.sub("2" if verb == "compose" else "3", part) for part in arguments]
    if {"tasks=tasks", "graph=tasks"} & set(arguments) or verb == "certify":
        made = ["task.count=2", "compute=local", "out=tasks", f"runs_dir='{runs_dir}'"]
        assert main(["compose", *made]) == 0
    if "--help" not in arguments:
        arguments += [f"runs_dir='{runs_dir}'"] if verb in TAKES_RUNS else []
        acts = _acts(arguments)
        if "+experiment=faulty" in arguments:
            arguments.append("faults.count=3")
        small = SMALLER.get(verb, (MODEL if acts else SMALL) if verb == "evolve" else ())
        keys = {part.lstrip("+").partition("=")[0] for part in arguments}
        arguments += [part for part in small if part.partition("=")[0] not in keys]
        if acts and "policy.model" not in keys:
            arguments.append(f"policy.model='{model}'")

    status = main(arguments)

    shown = capsys.readouterr()
    assert status == 0, shown.err
    assert shown.out.strip()
