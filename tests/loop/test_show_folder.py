"""`show service=FOLDER`: a service that was synthesized, and no round."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from loop.__main__ import main

TOOLS = [
    {
        "name": "create_note",
        "description": "Create a note",
        "inputSchema": {
            "type": "object",
            "properties": {"title": {"type": "string"}, "text": {"type": "string"}},
            "required": ["title", "text"],
        },
    },
    {
        "name": "get_note",
        "description": "Get a note by id",
        "inputSchema": {
            "type": "object",
            "properties": {"note_id": {"type": "string"}},
            "required": ["note_id"],
        },
    },
    {"name": "list_notes", "description": "List all notes", "inputSchema": {"type": "object"}},
]


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("show")
    (folder / "pad.json").write_text(json.dumps({"tools": TOOLS}), encoding="utf-8")
    source = f"environment.sources=[{{kind: tools_list, path: '{folder / 'pad.json'}'}}]"
    out = folder / "services"
    assert main(["synthesize", source, f"out='{out}'", f"runs_dir='{folder / 'runs'}'"]) == 0
    return out


def show(services: Path, capsys: pytest.CaptureFixture[str], name: str, runs: str) -> str:
    capsys.readouterr()
    place = f"service='{services / name}'"
    status = main(["show", place, f"runs_dir='{services.parent / runs}'"])
    out, err = capsys.readouterr()
    assert (status, err) == (0, "")
    return out


def test_a_synthesized_folder_is_shown_with_its_readings(
    services: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = show(services, capsys, "pad", "runs")

    assert page.startswith(f"Service pad: pad (folder {services / 'pad'})")
    assert "create note, 100% sure" in page
    assert "8 rows" in page
    for tool in TOOLS:
        assert f"\n{tool['name']}\n  {tool['description']}\n" in page


def test_without_the_compilation_the_folder_says_what_decided(
    services: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = show(services, capsys, "pad", "elsewhere")

    why = json.loads((services / "pad" / "tools.json").read_text(encoding="utf-8"))
    assert set(why) == {tool["name"] for tool in TOOLS}
    for line in why.values():
        assert line in page


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (".", "it holds pad; name one: service="),
        ("pda", "has no spec.json; name a folder of one service that synthesize wrote"),
    ],
)
def test_a_folder_that_is_no_service_is_refused(
    services: Path, capsys: pytest.CaptureFixture[str], name: str, said: str
) -> None:
    capsys.readouterr()

    assert main(["show", f"service='{services / name}/'"]) == 2

    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1


def test_a_damaged_file_is_named(services: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = services / "pad" / "blueprint.json"
    whole = path.read_bytes()
    path.write_bytes(b'{"tools": 3}')
    try:
        assert main(["show", f"service='{services / 'pad'}'"]) == 2
    finally:
        path.write_bytes(whole)

    err = capsys.readouterr().err
    assert str(path) in err
    assert "synthesize its source again" in err
