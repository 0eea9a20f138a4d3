"""A code service is a service like any: state is a value, and an error changes nothing."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from components.environment.engine import Outcome, call_recorded, execute, replay
from components.environment.sandbox.code_service import describe_sources
from components.environment.sandbox.limits import SandboxLimits
from components.environment.sandbox.walls import Walls, walls_problem
from components.environment.sandbox.worker import Came, Said
from components.environment.sandbox.workers import Workers, _delta
from components.environment.state import WorldState, rows_of, state_hash
from components.environment.world import World, build_code_world
from components.errors import SynthesisError
from components.records.blueprint import (
    Blueprint,
    FieldType,
    Operation,
    Quarantine,
    QuarantineReason,
    SeedData,
    ToolBlueprint,
)
from components.records.frozen import FrozenDict, freeze
from tests.environment.sandbox.notes import EMPTY, NO_ROWS, SOURCE, described, notes_spec
from tests.environment.sandbox.probes import HASTY, NOW

_PROBLEM = walls_problem(Walls.BUBBLEWRAP)
pytestmark = pytest.mark.skipif(bool(_PROBLEM), reason=f"no walls here: {_PROBLEM}")


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    found = Workers(Walls.BUBBLEWRAP, SandboxLimits(deadline_seconds=20.0), max_workers=2)
    yield found
    found.close()


@pytest.fixture(scope="module")
def hasty() -> Iterator[Workers]:
    found = Workers(Walls.BUBBLEWRAP, HASTY, max_workers=1)
    yield found
    found.close()


@pytest.fixture(scope="module")
def world(workers: Workers) -> World:
    return world_of(workers)


def world_of(workers: Workers, source: str = SOURCE, *more: str) -> World:
    found = described(workers, source, *more)
    return build_code_world(notes_spec(*more), found.code, found.seed, NOW, workers)


def call(world: World, state: WorldState, tool: str, **arguments: Any) -> Outcome:
    return execute(world, state, "notes", tool, arguments)


def test_rows_types_and_seed_are_read_from_the_classes(workers: Workers) -> None:
    found = described(workers)

    note = found.code.shape.entities["note"]
    assert (note.key, note.prefix, note.generated_key) == ("id", "nt", True)
    assert {name: (f.type, f.nullable, f.required) for name, f in note.fields.items()} == {
        "id": (FieldType.STRING, False, True),
        "title": (FieldType.STRING, False, True),
        "status": (FieldType.STRING, False, False),
        "tags": (FieldType.ARRAY, False, False),
        "created_at": (FieldType.TIMESTAMP, False, True),
        "closed_at": (FieldType.TIMESTAMP, True, False),
    }
    assert note.fields["status"].enum == ("open", "done")
    assert note.fields["created_at"].generated
    assert list(found.seed.tables["note"]) == ["nt_seed"]
    assert found.code.shape.tools["close_note"].operation is Operation.TRANSITION


def test_a_write_is_applied_by_the_engine_and_read_back(world: World) -> None:
    made = call(world, world.initial, "create_note", title="Bread", tags=["food"])
    note_id = made.envelope["data"]["note"]["id"]

    seen = call(world, made.state, "get_note", id=note_id)

    assert [(c.table, c.row_id, c.before, c.cause) for c in made.changes] == [
        ("note", note_id, None, "effect:create_note")
    ]
    assert seen.envelope == freeze({"ok": True, "data": {"note": made.envelope["data"]["note"]}})
    assert rows_of(made.state, "notes", "note")[note_id]["tags"] == ("food",)
    assert list(rows_of(world.initial, "notes", "note")) == ["nt_seed"]


def test_a_refusal_changes_nothing_and_says_why(world: World) -> None:
    closed = call(world, world.initial, "close_note", id="nt_seed")

    again = call(world, closed.state, "close_note", id="nt_seed")
    unknown = call(world, closed.state, "get_note", id="nt_none")

    assert again.state is closed.state
    assert again.envelope["error"] == freeze(
        {"code": "precondition_failed", "message": "it is closed", "details": {"rule": "open"}}
    )
    assert unknown.envelope["error"]["code"] == "not_found"


def test_arguments_are_judged_by_the_spec_before_any_code_runs(world: World) -> None:
    outcome = call(world, world.initial, "create_note", title="")

    assert outcome.envelope["error"]["code"] == "invalid_arguments"


def test_two_sessions_of_one_worker_never_see_each_other(world: World) -> None:
    left = call(world, world.initial, "create_note", title="left").state
    right = call(world, world.initial, "create_note", title="right").state
    for _ in range(3):
        left = call(world, left, "create_note", title="left").state
        right = (
            call(world, right, "delete_note", id=next(iter(rows_of(right, "notes", "note")))).state
            if rows_of(right, "notes", "note")
            else right
        )

    titles = [row["title"] for row in call(world, left, "list_notes").envelope["data"]["notes"]]

    assert sorted(titles) == ["Milk", "left", "left", "left", "left"]
    assert call(world, right, "list_notes").envelope["data"]["total"] == 0


def test_replay_on_a_new_worker_gives_the_same_bytes(workers: Workers, world: World) -> None:
    state, records = world.initial, []
    for title in ("a", "b", "a"):
        state, record = call_recorded(world, state, "notes", "create_note", {"title": title})
        records.append(record)
    state, record = call_recorded(world, state, "notes", "close_note", {"id": "nt_seed"})
    workers.close()

    again, repeated = replay(world, world.initial, [*records, record])

    assert repeated == (*records, record)
    assert state_hash(again) == state_hash(state)


def test_same_content_gets_the_same_id_in_any_order(world: World) -> None:
    one = call(world, world.initial, "create_note", title="one").state
    both = call(world, one, "create_note", title="two").state

    two = call(world, world.initial, "create_note", title="two").state
    turned = call(world, two, "create_note", title="one").state

    assert state_hash(both) == state_hash(turned)


def test_only_changed_rows_travel(world: World) -> None:
    state = world.initial
    for place in range(20):
        state = call(world, state, "create_note", title=f"note {place}").state
    before = state.services["notes"]
    after = call(world, state, "close_note", id="nt_seed").state.services["notes"]

    delta = _delta(before, after)

    assert list(delta["note"]["put"]) == ["nt_seed"]
    assert delta["note"]["drop"] == []
    assert _delta(after, after) == {}


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("return 1 / 0", "ZeroDivisionError"),
        ("return {'x': {1, 2}}", "TypeError"),
        ("return float('nan')", "ValueError"),
        ("return state.table(Note).add(title=7, created_at=state.now)", "ValidationError"),
        ("note = state.table(Note).need('nt_seed'); state.table(Note).change(note, id='other')",
         "ValueError"),
        ("import os; os._exit(1)", "Died"),
        ("while True: pass", "Late"),
        ("return 'x' * (9 << 20)", "TooLarge"),
        ("raise SystemExit", "SystemExit"),
        ("raise Refuse('no_such_code', 'x')", "ValueError"),
    ],
)  # fmt: skip
def test_a_fault_of_the_code_is_internal_and_changes_nothing(
    workers: Workers, hasty: Workers, body: str, kind: str
) -> None:
    wrong = f"{SOURCE}\n@tool('wrong')\ndef wrong(state, args):\n    {body}\n"
    world = world_of(hasty if kind == "Late" else workers, wrong, "wrong")

    outcome = call(world, world.initial, "wrong")

    error = outcome.envelope["error"]
    assert outcome.state is world.initial
    assert error["code"] == "internal"
    assert error["details"]["kind"] == kind


@pytest.mark.parametrize(
    "answer",
    [
        '{"data": 1, "changes": [{"table": "other", "id": "a", "values": {}}]}',
        '{"data": 1, "changes": [{"table": "note", "id": 7, "values": {}}]}',
        '{"data": 1, "changes": [{"table": "note", "id": "a", "values": {"id": "a"}}]}',
        '{"data": 1, "changes": [{"table": "note", "id": "a", "values": [1]}]}',
        '{"data": 1, "changes": [{"table": "note", "id": "b", "values": {"id": "a", "title": "t", '
        '"status": "open", "tags": [], "created_at": "2026-01-01T00:00:00Z", "closed_at": null}}]}',
        '{"data": 1, "changes": {"a": 1}}',
        '{"data": 1, "changes": null}',
        '{"changes": []}',
        '{"code": "gone", "message": 1}',
        '{"code": "not_found", "message": 1, "details": 7}',
        "[1, 2]",
        "no json",
        "[" * 5000,
    ],
)
def test_whatever_code_answers_the_engine_decides(workers: Workers, answer: str) -> None:
    forging = f"{SOURCE}\n@tool('wrong')\ndef wrong(state, args):\n    import json\n"
    forging += f"    json.dumps = lambda *a, **k: {answer!r}\n"
    world = world_of(workers, forging, "wrong")

    outcome = call(world, world.initial, "wrong")

    assert outcome.state is world.initial
    assert outcome.envelope["error"]["code"] == "internal"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("def broken(:", "service.py line 1: SyntaxError"),
        ("x = 1\nraise KeyError('oh')", "service.py line 2: KeyError"),
        ("import numpy", "service.py line 1: ModuleNotFoundError"),
        ("from service_kit import Row\nclass A(Row, table='a', prefix='a'):\n    key: str",
         "A has no field 'id' for its key"),
        ("from service_kit import Row\nclass A(Row, table='a'):\n    id: str\n    z: set",
         "A.z: <class 'set'> is no field type"),
        ("from service_kit import Row\nclass A(Row, table='a'):\n    id: str\n    z: 'Nowhere'",
         "Nowhere"),
        ("from service_kit import tool\n@tool('create_note', 'dance')\ndef f(state, args): pass",
         "'dance' is not a valid Operation"),
        ("while True: pass", "did not answer in time"),
    ],
)  # fmt: skip
def test_files_that_do_not_load_say_where(
    workers: Workers, hasty: Workers, source: str, said: str
) -> None:
    with pytest.raises(SynthesisError) as caught:
        described(hasty if "in time" in said else workers, source)

    assert said in str(caught.value)


def test_missing_tools_are_quarantined_and_unknown_ones_ignored(workers: Workers) -> None:
    source = SOURCE.replace('@tool("delete_note", "delete")', '@tool("drop_note", "delete")')

    found = described(workers, source)

    assert set(found.code.shape.quarantined) == {"delete_note"}
    assert "drop_note" not in found.code.shape.tools


def test_given_rows_that_fit_are_kept_and_cut_to_the_fields(workers: Workers) -> None:
    fits = {"id": "nt_1", "title": "Tea", "created_at": "2026-01-02T00:00:00Z", "colour": "red"}
    unfit = {"id": "nt_2", "title": 7, "created_at": "2026-01-02T00:00:00Z"}
    rows = freeze({"note": {"nt_1": fits, "nt_2": unfit}, "gone": {}})
    seed = SeedData(service="notes", tables=FrozenDict(rows))

    found = describe_sources(notes_spec(), {"service.py": SOURCE}, EMPTY, seed, workers)

    assert set(found.seed.tables["note"]) == {"nt_1", "nt_seed"}
    assert "colour" not in found.seed.tables["note"]["nt_1"]
    assert found.seed.tables["note"]["nt_1"]["status"] == "open"


def test_hints_of_the_compiler_outrank_what_code_says_of_itself(workers: Workers) -> None:
    hint = ToolBlueprint(operation=Operation.UPDATE, functional="write", difficulty=4)
    hints = Blueprint(
        service="notes", entities=FrozenDict(), tools=FrozenDict({"close_note": hint})
    )

    found = describe_sources(notes_spec(), {"service.py": SOURCE}, hints, NO_ROWS, workers)

    assert found.code.shape.tools["close_note"] == hint


def test_files_may_import_one_another(workers: Workers) -> None:
    rows = "from service_kit import Row\nclass A(Row, table='a', prefix='a'):\n    id: str\n"
    main = "from rows import A\nfrom service_kit import tool\n@tool('create_note', 'create')\n"
    main += "def make(state, args):\n    return {'a': state.table(A).add()}\n"

    found = describe_sources(
        notes_spec(), {"service.py": main, "rows.py": rows}, EMPTY, NO_ROWS, workers
    )
    world = build_code_world(notes_spec(), found.code, found.seed, NOW, workers)

    assert call(world, world.initial, "create_note", title="x").changes[0].table == "a"


def test_a_lost_worker_is_replaced_and_told_everything(workers: Workers, world: World) -> None:
    state = call(world, world.initial, "create_note", title="kept").state
    for loaded in workers._loaded.values():
        loaded.worker._process.kill()
        loaded.worker._process.wait()

    outcome = call(world, state, "list_notes")

    assert outcome.envelope["data"]["total"] == 2


def test_a_worker_goes_with_the_thread_that_started_it_and_is_replaced() -> None:
    own = Workers(Walls.BUBBLEWRAP, SandboxLimits(), max_workers=1)
    found: list[World] = []
    thread = threading.Thread(target=lambda: found.append(world_of(own)))
    thread.start()
    thread.join()

    outcome = call(found[0], found[0].initial, "list_notes")
    own.close()

    assert outcome.envelope["data"]["total"] == 1


def test_sets_have_the_same_order_in_every_worker(workers: Workers) -> None:
    more = (
        "\n@tool('wrong')\ndef wrong(state, args):\n    return list({str(n) for n in range(50)})\n"
    )
    world = world_of(workers, SOURCE + more, "wrong")
    first = call(world, world.initial, "wrong").body
    workers.close()

    assert call(world, world.initial, "wrong").body == first


def test_simulated_tools_stay_as_they_are_and_code_may_not_pretend_to_them(
    workers: Workers,
) -> None:
    drawn = ToolBlueprint.model_validate(
        {"operation": "get", "functional": "read", "simulated": True, "result": {"note": "drawn"}}
    )
    external = Quarantine(reason=QuarantineReason.EXTERNAL, detail="it sends mail")
    hints = Blueprint(
        service="notes",
        entities=FrozenDict(),
        tools=FrozenDict({"get_note": drawn}),
        quarantined=FrozenDict({"delete_note": external}),
    )

    found = describe_sources(notes_spec(), {"service.py": SOURCE}, hints, NO_ROWS, workers)
    world = build_code_world(notes_spec(), found.code, found.seed, NOW, workers)

    assert call(world, world.initial, "get_note", id="x").envelope["data"]["note"] == "drawn"
    assert found.code.shape.quarantined["delete_note"] == external
    assert "delete_note" not in world.services["notes"].tools


@pytest.mark.parametrize(
    "declared",
    [
        b'{"tables": {"note": {"key": "id", "prefix": "nt", "fields": {}}}, "tools": {}, '
        b'"seed": {}}',
        b'{"tables": {"\\u0000": {"key": "id", "prefix": null, "fields": {"id": {"type": '
        b'"string"}}}}, "tools": {}, "seed": {}}',
        b'{"tables": {}, "tools": {"get_note": 7}, "seed": {}}',
        b'{"tables": {"a": {"key": "id", "prefix": "a", "fields": {"id": {"type": "string"}}}},'
        b' "tools": {}, "seed": {"a": {"x": 7}}}',
        b'{"fault": [1]}', b'{"fault": {"places": [7], "line": 3}}', b"[]", b"7", b"",
    ],
)  # fmt: skip
def test_a_forged_description_is_an_error_and_nothing_worse(declared: bytes) -> None:
    class Forging(Workers):
        def __init__(self) -> None:
            pass

        def describe(self, sources: Any) -> Said:
            return Said(Came.ANSWER, declared)

    with pytest.raises(SynthesisError):
        described(Forging())


def test_old_workers_go_when_there_are_too_many(workers: Workers) -> None:
    few = Workers(Walls.BUBBLEWRAP, SandboxLimits(), max_workers=1)
    worlds = [world_of(few, SOURCE + f"# {place}\n") for place in range(2)]

    totals = [
        call(world, world.initial, "list_notes").envelope["data"]["total"]
        for world in (*worlds, *worlds)
    ]

    assert totals == [1, 1, 1, 1]
    assert len(few._loaded) == 1
    few.close()
