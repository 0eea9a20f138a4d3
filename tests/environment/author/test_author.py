"""The author against a scripted endpoint: the best of what comes, and never worse than nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from components.environment.author.author import author_service, open_recording
from components.environment.author.records import Authored
from components.environment.engine import execute
from components.environment.sandbox.limits import SandboxLimits
from components.environment.sandbox.walls import Walls, walls_problem
from components.environment.sandbox.workers import Workers, shared_workers
from components.environment.world import build_code_world
from components.errors import ComputeError
from components.records.blueprint import Blueprint, Quarantine, QuarantineReason, SeedData
from components.records.frozen import FrozenDict, freeze
from tests.environment.author.scripted import (
    ADVERSARIAL,
    GOOD,
    SEED,
    TOOLS,
    ServedAuthor,
    author_config,
    empty_blueprint,
    plays,
    python,
    serve,
    small_spec,
)
from tests.model.served import Play

_PROBLEM = walls_problem(Walls.BUBBLEWRAP)
pytestmark = pytest.mark.skipif(bool(_PROBLEM), reason=f"no walls here: {_PROBLEM}")

FORGETFUL = GOOD.replace("state.table(Note).need(args", "state.table(Note).get(args")
"""Answers null for a note that there is not."""
NO_LIST = GOOD[: GOOD.index('@tool("list_notes"')]


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    limits = SandboxLimits(deadline_seconds=20.0, memory_bytes=256 << 20)
    found = Workers(Walls.BUBBLEWRAP, limits, max_workers=1)
    yield found
    found.close()


@pytest.fixture(scope="module")
def hasty() -> Iterator[Workers]:
    found = Workers(Walls.BUBBLEWRAP, SandboxLimits(deadline_seconds=3.0), max_workers=1)
    yield found
    found.close()


def write(
    workers: Workers,
    served: ServedAuthor,
    blueprint: Blueprint | None = None,
    seed: SeedData = SEED,
    **changes: Any,
) -> Authored:
    config = author_config(served.base_url, **changes)
    return author_service(
        small_spec(), blueprint or empty_blueprint(), seed, config, open_recording(config),
        workers=workers, sleep=lambda _seconds: None,
    )  # fmt: skip


def test_good_code_replaces_a_blueprint_in_which_nothing_works(workers: Workers) -> None:
    with serve(plays(write=python(GOOD), simplify=Play("It is plain."))) as served:
        authored = write(workers, served)

    assert authored.code is not None
    assert set(authored.code.shape.tools) == set(TOOLS)
    assert authored.reason == (
        "code has 3 working tools and 2 of 2 adversarial tests, "
        "the blueprint 0 working tools and 0 of 2 adversarial tests"
    )
    assert served.stages == ["adversarial", "explore", "write", "simplify"]
    assert {s: (f.requests, f.prompt_tokens, f.answer_tokens, f.versions)
            for s, f in authored.stages.items()} == {
        "adversarial": (1, 100, 50, 0), "explore": (1, 100, 50, 0),
        "write": (1, 100, 50, 1), "simplify": (1, 100, 50, 1),
    }  # fmt: skip
    world = build_code_world(
        small_spec(), authored.code, authored.seed, "2026-03-02T09:00:00Z", workers
    )
    assert execute(world, world.initial, "notes", "list_notes", {}).envelope["data"]["total"] == 1


def test_adversarial_session_sees_the_specification_and_never_the_code(workers: Workers) -> None:
    with serve(plays(write=python(FORGETFUL), revise=python(FORGETFUL))) as served:
        write(workers, served, revisions=1)

    [prompt] = served.prompts("adversarial")
    assert "list_notes" in prompt
    assert "service_kit" not in prompt
    assert served.stages[0] == "adversarial"


def test_failures_are_told_and_the_best_version_is_kept_not_the_last(workers: Workers) -> None:
    wrong = {"name": "wrong", "steps": [{"tool": "list_notes", "holds": {"/total": 99}}]}
    script = plays(
        adversarial=Play(json.dumps([*ADVERSARIAL, wrong])),
        write=python(NO_LIST),
        revise=[python(GOOD), python("x = 1 # tool")],
    )
    with serve(script) as served:
        authored = write(workers, served, revisions=2)

    assert authored.code is not None
    assert '@tool("list_notes"' in authored.code.sources["service.py"]
    assert [(v.is_best, bool(v.problem)) for v in authored.versions] == [
        (True, False), (True, False), (False, False), (False, True),
    ]  # fmt: skip
    first, second = served.prompts("revise")
    assert "def create_note" in first
    assert "(2 of 3 passed" in first
    assert "def list_notes" not in first
    assert "test 'wrong', step 1, list_notes({}): expected /total to be 99; came 1" in second


@pytest.mark.parametrize(
    ("play", "why"),
    [
        (Play("I'm sorry, but I can't help with that."), "no block of Python"),
        (Play("```python\nprint('hello')\n```"), "no block of Python"),
        (Play("```python\nfrom service_kit import tool\n@tool('x')\ndef", finish="length"),
         "was cut off"),
        (python("from service_kit import tool\ndef broken(:"), "SyntaxError"),
        (python("import requests  # tool"), "ModuleNotFoundError"),
        (python("# tool\nwhile True: pass"), "did not answer in time"),
        (python("# tool\nimport os; os._exit(0)"), "the call's process ended"),
        (python("# tool\nimport os; os.kill(os.getppid(), 9)"), "PermissionError"),
        (python("# tool\nx = bytearray(8 << 30)"), "MemoryError"),
    ],
)  # fmt: skip
def test_useless_answers_end_in_the_blueprint(
    workers: Workers, hasty: Workers, play: Play, why: str
) -> None:
    with serve(plays(write=play)) as served:
        authored = write(hasty if "in time" in why else workers, served)

    assert authored.code is None
    assert authored.reason.startswith(
        "best so far: blueprint (no version of the code could be used"
    )
    assert why in authored.reason
    assert authored.seed == SEED
    assert authored.stages["write"].versions == 1


def test_an_unusable_answer_is_told_what_is_missing(workers: Workers) -> None:
    script = plays(write=[Play("No."), python(GOOD)])
    with serve(script) as served:
        authored = write(workers, served, revisions=3)

    assert "could not be used: it holds no block of Python" in served.prompts("write")[1]
    assert authored.code is not None
    assert served.stages.count("write") == 2  # perfect: nothing is left to revise


def test_tools_that_never_end_cost_a_few_deadlines_and_are_quarantined(hasty: Workers) -> None:
    endless = GOOD.replace("    rows = state", "    while True: pass\n    rows = state")
    with serve(plays(write=python(endless))) as served:
        authored = write(hasty, served)

    assert authored.code is not None
    assert set(authored.code.shape.tools) == {"create_note", "get_note"}
    assert "list_notes" in authored.code.shape.quarantined


def test_code_that_looks_for_secrets_tells_the_endpoint_none(
    workers: Workers, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SELVAGE_TEST_KEY", "sk-very-secret")
    (tmp_path / "secret").write_text("sk-very-secret")
    thief = (
        "# tool\nimport os, glob\nfound = [dict(os.environ), glob.glob('/*')]\n"
        f"try: found.append(open({str(tmp_path / 'secret')!r}).read())\n"
        "except OSError as error: found.append('missing')\nraise ValueError(str(found))"
    )
    with serve(plays(write=python(thief))) as served:
        authored = write(workers, served, revisions=1)

    assert authored.code is None
    assert "missing" in served.prompts("write")[1]
    assert "sk-very-secret" not in json.dumps(served.requests)
    assert set(served.keys) == {"Bearer sk-very-secret"}


def test_a_plainer_version_is_taken_only_if_nothing_shows_outside(workers: Workers) -> None:
    tests = [{"name": "listed", "steps": [{"tool": "list_notes", "holds": {"/total": 1}}]}]
    plainer = GOOD.replace("\n\n\n", "\n").replace(
        '    rows = state.table(Note).where(**({"status": args["status"]} if "status" in args else '
        '{}))\n    return {"notes": rows, "total": len(rows)}',
        '    rows = [n for n in state.table(Note) if args.get("status", n.status) == n.status]; '
        'return {"notes": rows, "total": len(rows)}',
    )
    other = plainer.replace('"total": len(rows)}', '"total": len(rows), "more": False}')
    assert len(plainer.splitlines()) < len(GOOD.splitlines())

    with serve(plays(write=python(GOOD, tests), simplify=python(plainer))) as served:
        simplified = write(workers, served)
    with serve(plays(write=python(GOOD, tests), simplify=python(other))) as served:
        changed = write(workers, served)

    assert simplified.code is not None
    assert simplified.code.sources["service.py"].strip() == plainer.strip()
    assert changed.code is not None
    assert changed.code.sources["service.py"].strip() == GOOD.strip()
    assert [v.tally.own_total for v in simplified.versions] == [1, 1]


def test_a_blueprint_that_is_as_good_stays(workers: Workers) -> None:
    with serve(plays(write=python(GOOD))) as served:
        authored = write(workers, served, blueprint=working_blueprint(), seed=one_note())

    assert authored.code is None
    assert authored.reason == (
        "best so far: blueprint (the best code has 3 working tools and 2 of 2 adversarial tests, "
        "the blueprint 3 working tools and 2 of 2 adversarial tests)"
    )
    assert "simplify" not in served.stages


def test_where_every_tool_is_external_nobody_is_asked(workers: Workers) -> None:
    external = Quarantine(reason=QuarantineReason.EXTERNAL, detail="it asks the web")
    blueprint = empty_blueprint().model_copy(
        update={"quarantined": FrozenDict(dict.fromkeys(TOOLS, external))}
    )
    with serve(plays()) as served:
        authored = write(workers, served, blueprint=blueprint)

    assert served.requests == []
    assert authored.reason.startswith("best so far: blueprint (every tool is external")


def test_the_server_s_source_is_shown_where_a_path_is_given(
    workers: Workers, tmp_path: Path
) -> None:
    for place in range(12):
        (tmp_path / f"part{place}.py").write_text(f"# part {place}\nMARK = {place}\n")
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "big.js").write_text("theirs")
    (tmp_path / "way_out.py").symlink_to("/etc/passwd")
    chosen = json.dumps(["part7.py", "../../etc/passwd", "way_out.py", "part2.py"])
    with serve(plays(choose=Play(chosen), write=Play("no"))) as served:
        write(workers, served, source=str(tmp_path))

    [listing], [explored] = served.prompts("choose"), served.prompts("explore")
    assert "part11.py 20" in listing
    assert "node_modules" not in listing
    assert "way_out" not in listing
    assert "MARK = 7" in explored
    assert "MARK = 2" in explored
    assert "MARK = 3" not in explored
    assert "root:" not in explored


def test_without_walls_nobody_is_asked_and_the_mend_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", "")
    walls_problem.cache_clear()
    shared_workers.cache_clear()
    try:
        with serve(plays(write=python(GOOD))) as served:
            config = author_config(served.base_url)
            with pytest.raises(ComputeError, match=r"author.sandbox=bubblewrap: .*bwrap"):
                author_service(
                    small_spec(), empty_blueprint(), SEED, config, open_recording(config)
                )
    finally:
        walls_problem.cache_clear()

    assert served.requests == []


def one_note() -> SeedData:
    """A seed of one row for `working_blueprint`."""
    row = {"id": "nt_1", "title": "Tea", "status": "open", "tags": []}
    return SeedData(service="notes", tables=FrozenDict(freeze({"note": {"nt_1": row}})))


def working_blueprint() -> Blueprint:
    """The three tools as a blueprint that passes."""
    text = {"type": "string"}
    note = {
        "prefix": "nt",
        "title_field": "title",
        "fields": {
            "id": text, "title": text,
            "status": {"type": "string", "enum": ["open", "done"], "default": "open",
                       "required": False},
            "tags": {"type": "array", "default": [], "required": False},
        },
    }  # fmt: skip
    tools = {
        "create_note": {
            "operation": "create", "functional": "write", "entity": "note",
            "effects": {"made": {"action": "create", "table": "note", "fields": {
                "title": "$args.title", "tags": "$args.tags"}}},
            "result": {"note": "$made"},
        },
        "get_note": {
            "operation": "get", "functional": "read", "entity": "note",
            "lookups": {"note": {"table": "note", "equals": "$args.id"}},
            "result": {"note": "$note"},
        },
        "list_notes": {
            "operation": "list", "functional": "read", "entity": "note",
            "query": {"table": "note", "where": {
                "status": {"@if": ["$args.status", {"@eq": ["$item.status", "$args.status"]},
                                   None]}}},
            "result": {"notes": "$rows", "total": "$total"},
        },
    }  # fmt: skip
    return Blueprint.model_validate(
        {"service": "notes", "entities": FrozenDict({"note": note}), "tools": freeze(tools)}
    )
