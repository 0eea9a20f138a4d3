"""Claims about `environment.author=model` from the command line, against a scripted endpoint."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from attribution.accept import decide
from attribution.swap import make_patch, swap
from components.environment.engine import execute
from components.environment.sandbox.walls import Walls, walls_problem
from components.environment.sandbox.workers import shared_workers
from components.environment.world import build_world
from components.records.code import CodeService
from components.records.system import System
from components.records.world import WorldSpec
from loop.__main__ import main
from loop.ledger import Ledger, load_system
from tests.environment.author.scripted import plays, python, serve
from tests.loop.authored import CODE, listed_specs
from tests.model.served import Play

_PROBLEM = walls_problem(Walls.BUBBLEWRAP)
needs_walls = pytest.mark.skipif(bool(_PROBLEM), reason=f"no walls here: {_PROBLEM}")
NOBODY = "http://127.0.0.1:9/v1"
FORMS = ["environment.author=model", "environment/author=model"]
GOOD = plays(write=python(CODE), simplify=Play("It is plain."))
NO_TAG = CODE[: CODE.index('@tool("tag_note"')]


def synthesize(folder: Path, base_url: str, *more: str) -> int:
    chosen = [*more] if any("author=" in item for item in more) else [FORMS[0], *more]
    return main(
        [
            "synthesize",
            listed_specs(folder),
            *chosen,
            f"environment.author.base_url={base_url}",
            "environment.author.model=scripted",
            f"out='{folder / 'services'}'",
            f"runs_dir='{folder / 'runs'}'",
            "compute=local",
        ]
    )


def read(path: Path) -> Any:
    return json.loads(path.read_text())


@needs_walls
def test_code_is_written_beside_the_blueprint_and_asked_for_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = []
    with serve(GOOD) as served:
        for form in FORMS:  # both mean the same; the second finds what the first has kept
            assert synthesize(tmp_path, served.base_url, form) == 0
            shown.append(capsys.readouterr().out)

    assert served.stages == ["adversarial", "explore", "write", "simplify"]
    assert shown[0] == shown[1]
    rows = {line.split()[0]: line for line in shown[0].splitlines() if line.strip()}
    assert "code: 4 of 4" in rows["notes"]
    assert "left alone" in rows["plain"]
    notes = tmp_path / "services" / "notes"
    code = CodeService.model_validate(read(notes / "code.json"))
    assert set(code.shape.tools) == {"create_note", "get_note", "list_notes", "tag_note"}
    assert (notes / "code" / "service.py").read_text() == code.sources["service.py"]
    assert set(read(notes / "seed.json")["tables"]["note"]) == {"nt_seed"}
    assert "tag_note" in read(notes / "blueprint.json")["quarantined"]
    tried = read(notes / "author.json")
    assert tried["reason"].startswith("code has 4 working tools")
    assert tried["stages"]["write"]["prompt_tokens"] == 100
    assert [version["is_best"] for version in tried["versions"]] == [True, False]
    assert not (tmp_path / "services" / "plain" / "author.json").exists()


@needs_walls
def test_code_that_is_no_better_leaves_the_blueprint_and_its_seed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serve(plays(write=python(NO_TAG))) as served:
        assert synthesize(tmp_path, served.base_url, "environment.author.revisions=0") == 0

    assert "blueprint kept:" in capsys.readouterr().out
    notes = tmp_path / "services" / "notes"
    assert not (notes / "code.json").exists()
    assert set(read(notes / "seed.json")["tables"]) == set(
        read(notes / "blueprint.json")["entities"]
    )
    assert "the best code has 3 working tools" in read(notes / "author.json")["reason"]


@needs_walls
def test_a_budget_is_a_result_until_it_is_raised(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small = "environment.author.budget.tokens=300"
    with serve(GOOD) as served:
        for _ in range(2):
            assert synthesize(tmp_path, served.base_url, small) == 0
            assert "the budget" in capsys.readouterr().out
        assert served.requests == []
        assert synthesize(tmp_path, served.base_url) == 0

    assert "code: 4 of 4" in capsys.readouterr().out


@needs_walls
def test_a_recording_answers_all_that_is_asked_once_the_services_are_compiled(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, shown = tmp_path / "exchanges.jsonl", []
    revised = plays(write=python(NO_TAG), revise=python(CODE), simplify=Play("It is plain."))
    with serve(revised) as served:
        assert synthesize(tmp_path, served.base_url, f"environment.author.record='{file}'") == 0
        shown.append(capsys.readouterr().out)
    assert synthesize(tmp_path, NOBODY, f"environment.author.replay='{file}'") == 0
    shown.append(capsys.readouterr().out)

    assert served.stages == ["adversarial", "explore", "write", "revise", "simplify"]
    assert "code: 4 of 4" in shown[0]
    assert shown[0] == shown[1]


TOO_LONG = [
    b'{"error": {"message": "request (9210 tokens) exceeds the available context size (8192)"}}',
    b'{"message": "This model\'s maximum context length is 8192 tokens; you asked for 16384"}',
    b'{"error": {"message": "prompt is too long: 210000 tokens"}}',
]


@needs_walls
@pytest.mark.parametrize("body", TOO_LONG)
def test_a_prompt_that_does_not_fit_the_model_ends_its_service_alone(
    body: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "exchanges.jsonl"
    refused = plays(write=Play(status=400, body=body))
    tried = []
    with serve(refused) as served:
        assert synthesize(tmp_path, served.base_url, f"environment.author.record='{file}'") == 0
        tried.append(read(tmp_path / "services" / "notes" / "author.json"))
    assert "too long for the model's window" in " ".join(capsys.readouterr().out.split())
    assert synthesize(tmp_path, NOBODY, f"environment.author.replay='{file}'") == 0
    tried.append(read(tmp_path / "services" / "notes" / "author.json"))
    with serve(GOOD) as served:  # the same name with a larger window
        assert synthesize(tmp_path, served.base_url) == 0

    assert "code: 4 of 4" in capsys.readouterr().out
    assert [item["stopped"] for item in tried] == ["window", "window"]
    assert tried[0]["reason"] == tried[1]["reason"]
    assert tried[0]["reason"].startswith("best so far: blueprint")
    assert "HTTP 400: {" in tried[0]["reason"]
    assert "a smaller environment.author.max_answer_tokens" in tried[0]["reason"]


@needs_walls
@pytest.mark.parametrize(
    ("script", "more", "line"),
    [
        (None, [], "base_url=http://127.0.0.1:9/v1: no answer (ConnectError); start the endpoint"),
        (plays(adversarial=Play(status=401)), [],
         "HTTP 401 (check the key in the environment variable OPENAI_API_KEY)"),
        (plays(write=Play(status=500)), ["environment.author.max_retries=0"], "HTTP 500; mend"),
        (GOOD, ["environment.author.source=/none"], "author.source=/none: no such file"),
        (GOOD, ["environment.author.replay=/none"], "author.replay: /none cannot be used"),
    ],
)  # fmt: skip
def test_what_stops_an_author_is_one_line_and_loses_nothing(
    script: Any,
    more: list[str],
    line: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    if script is None:
        status = synthesize(tmp_path, NOBODY, *more)
    else:
        with serve(script) as served:
            status = synthesize(tmp_path, served.base_url, *more)

    assert status == 2
    out, err = capsys.readouterr()
    assert line in next(text for text in err.splitlines() if text.startswith("selvage: "))
    assert "plain" in out
    for name in ("plain", "notes"):
        assert (tmp_path / "services" / name / "blueprint.json").exists()
    assert list((tmp_path / "runs" / "store").glob("authored/**/*.json")) == []


def test_without_bubblewrap_nothing_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "")
    walls_problem.cache_clear()
    shared_workers.cache_clear()
    try:
        with serve(GOOD) as served:
            assert synthesize(tmp_path, served.base_url) == 2
    finally:
        walls_problem.cache_clear()

    assert served.requests == []
    assert "author.sandbox=bubblewrap: " in capsys.readouterr().err
    assert (tmp_path / "services" / "notes" / "blueprint.json").exists()


@needs_walls
def test_code_of_an_earlier_author_does_not_stay_beside_another_blueprint(tmp_path: Path) -> None:
    with serve(GOOD) as served:
        assert synthesize(tmp_path, served.base_url) == 0
        notes = tmp_path / "services" / "notes"
        assert (notes / "code.json").exists()
        source, out = listed_specs(tmp_path), f"out='{tmp_path / 'services'}'"
        runs = f"runs_dir='{tmp_path / 'runs'}'"
        assert main(["synthesize", source, out, runs, "compute=local"]) == 0

    left = sorted(path.name for path in notes.iterdir() if path.is_file())
    assert left == ["blueprint.json", "card.json", "seed.json", "spec.json", "tools.json"]


@pytest.fixture(scope="module")
def round_with_code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of runs with a round on a system of three built-in services and one that is code."""
    folder = tmp_path_factory.mktemp("round")
    with serve(GOOD) as served:
        assert main(
            [
                "evolve", "+round=1", "run=code", listed_specs(folder), FORMS[1],
                f"environment.author.base_url={served.base_url}",
                "environment.author.model=scripted", f"runs_dir='{folder / 'runs'}'",
                "environment.services=[directory,helpdesk,mail]", "policy=scripted",
                "tracking=none", "faults=none", "scale=smoke", "task.count=2",
                "task.distractors=2", "rollout.group_size=1",
            ]
        ) == 0  # fmt: skip
    return folder / "runs"


def system_of(runs_dir: Path) -> System:
    with Ledger(runs_dir, "code").read_round(1) as folder:
        return load_system(folder.store, folder.system_version())


@needs_walls
def test_a_round_plays_with_a_service_that_is_code(round_with_code: Path) -> None:
    system = system_of(round_with_code)

    assert list(system.environment.code) == ["notes"]
    assert system.environment.code["notes"].walls == "bubblewrap"
    assert any("notes" in task.world.distractors for task in system.tasks.values())
    assert not any("notes" in task.world.services for task in system.tasks.values())
    some = next(task for task in system.tasks.values() if "notes" in task.world.distractors)
    hashes = system.reference.certificates[some.task_id].environment_hashes
    assert "code/notes" in hashes
    spec = WorldSpec(services=("notes",), now="2026-03-02T09:00:00Z")
    world = build_world(system, spec)
    tagged = execute(
        world, world.initial, "notes", "tag_note", {"id": "nt_seed", "tag": "red"}
    ).envelope
    assert tagged["data"]["note"]["tags"] == ("red",)


@needs_walls
def test_show_says_that_a_service_is_code(
    round_with_code: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", "service=notes", "run=code", f"runs_dir='{round_with_code}'"]) == 0

    shown = capsys.readouterr().out
    assert "service.py" in shown
    assert "walls: bubblewrap" in shown
    assert "answers  what its code says" in shown


@needs_walls
def test_a_tool_of_code_can_be_put_in_quarantine_and_not_patched(round_with_code: Path) -> None:
    system = system_of(round_with_code)
    written = {"holds": True, "message": "never"}
    patched = make_patch(
        system, "blueprint/notes", [("add", "/tools/tag_note/checks/x", written)], "", ""
    )
    body = {"reason": "failed_state_law", "detail": "it answers wrongly"}
    taken = make_patch(system, "blueprint/notes", [("add", "/quarantined/tag_note", body)], "", "")

    refused = decide(system, patched, ())
    after = swap(system, taken)

    assert not refused.accepted
    assert "blueprint/notes#/tools/tag_note/checks/x, and this service is code" in refused.reason
    world = build_world(after, WorldSpec(services=("notes",), now="2026-03-02T09:00:00Z"))
    assert set(world.services["notes"].tools) == {"create_note", "get_note", "list_notes"}
