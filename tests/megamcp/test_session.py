from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from components.environment.engine import replay
from components.environment.state import rows_of, state_hash
from components.environment.world import World
from components.errors import EnvironmentFault, ToolError
from components.megamcp.journal import CommitMode, Journal
from components.megamcp.session import Session, open_session, recover
from components.megamcp.sessions import Sessions
from tests.environment.engine_desk import changer, desk_world, schema


@pytest.fixture(params=list(CommitMode))
def journal(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Journal]:
    opened = Journal(tmp_path / "journal.db", request.param)
    yield opened
    opened.close()


def count_of(session: Session, row_id: str = "t0") -> int:
    return int(rows_of(session.state, "desk", "ticket")[row_id]["count"])


def again(world: World, path: Path, session_id: str) -> Session:
    """What another process finds in the journal."""
    return recover(world, Journal(path), session_id)


def test_sessions_of_one_world_see_only_their_own_state() -> None:
    world = desk_world()
    one, other = open_session(world), open_session(world)

    one.call("desk", "count_up", {"id": "t0"})

    assert (count_of(one), count_of(other)) == (1, 0)
    assert other.state is world.initial


def test_ids_that_are_drawn_differ_and_are_long() -> None:
    world = desk_world()

    ids = {open_session(world).session_id for _ in range(50)}

    assert len(ids) == 50
    assert all(len(session_id) >= 32 for session_id in ids)


def test_a_repeated_key_gets_the_recorded_answer_and_does_nothing(journal: Journal) -> None:
    session = open_session(desk_world(), journal)
    first = session.call("desk", "count_up", {"id": "t0"}, key="k1")

    second = session.call("desk", "count_up", {"id": "t0"}, key="k1")
    third = session.call("desk", "count_up", {"id": "t0"}, key="k2")

    assert second is first
    assert third.envelope["data"]["ticket"]["count"] == 2
    assert count_of(session) == 2


def test_a_repeated_key_knows_lists_and_arguments_that_are_no_json() -> None:
    session = open_session(desk_world())
    for key, arguments in (
        ("a", {"subject": "s", "tags": ["x", {"y": 1.0}]}),
        ("b", {"subject": float("nan")}),
    ):
        first = session.call("desk", "create", arguments, key=key)
        assert session.call("desk", "create", arguments, key=key) is first


def test_a_key_of_another_call_is_an_error() -> None:
    session = open_session(desk_world())
    session.call("desk", "count_up", {"id": "t0"}, key="k1")

    with pytest.raises(ToolError, match="another call"):
        session.call("desk", "count_up", {"id": "t1"}, key="k1")

    assert count_of(session, "t1") == 0


def test_a_restored_session_is_where_it_was_and_knows_no_later_key(journal: Journal) -> None:
    session = open_session(desk_world(), journal)
    session.call("desk", "count_up", {"id": "t0"}, key="k1")
    snapshot = session.snapshot()
    session.call("desk", "count_up", {"id": "t0"}, key="k2")

    session.restore(snapshot)
    again_one = session.call("desk", "count_up", {"id": "t0"}, key="k1")
    again_two = session.call("desk", "count_up", {"id": "t0"}, key="k2")

    assert again_one.envelope["data"]["ticket"]["count"] == 1
    assert again_two.envelope["data"]["ticket"]["count"] == 2
    assert count_of(session) == 2


def test_a_state_of_another_session_cannot_be_restored() -> None:
    world = desk_world()
    one, other = open_session(world), open_session(world)
    other.call("desk", "count_up", {"id": "t0"})

    with pytest.raises(ToolError, match="none of this session"):
        one.restore(other.snapshot())
    with pytest.raises(ToolError, match="none of this session"):
        one.fork(at=other.snapshot())


def test_a_fork_goes_its_own_way_and_copies_nothing() -> None:
    session = open_session(desk_world())
    session.call("desk", "count_up", {"id": "t0"})
    early = session.snapshot()
    session.call("desk", "count_up", {"id": "t0"})

    late_fork, early_fork = session.fork(), session.fork(at=early)
    assert late_fork.state is session.state
    late_fork.call("desk", "count_up", {"id": "t0"})

    assert [count_of(each) for each in (session, late_fork, early_fork)] == [2, 3, 1]


def test_a_recovered_session_has_everything_once(tmp_path: Path, journal: Journal) -> None:
    world = desk_world()
    session = open_session(world, journal, "one")
    calls: list[tuple[str, Any]] = [
        ("count_up", {"id": "t0"}),
        ("create", {"subject": "new", "tags": [1, 2.0]}),
        ("set_cost", {"id": "t0", "cost": float("inf")}),
        ("get", {"id": "t0"}),
        ("close", {"id": "t1"}),
    ]
    records = [session.call("desk", *call, key=str(number)) for number, call in enumerate(calls)]
    early = session.snapshot()
    session.call("desk", "delete", {"id": "t0"}, key="gone")
    session.restore(early)
    session.call("desk", "count_up", {"id": "t0"}, key="last")
    journal.flush()

    found = again(desk_world(), tmp_path / "journal.db", "one")

    assert state_hash(found.state) == state_hash(session.state)
    assert found.position == session.position == 8
    repeated = found.call("desk", "count_up", {"id": "t0"}, key="0")
    assert repeated.model_dump_json() == records[0].model_dump_json()
    assert count_of(found) == 2
    assert found.call("desk", "delete", {"id": "t0"}, key="gone").envelope["ok"] is True


def test_a_recovered_session_goes_on_and_can_be_recovered_again(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    world = desk_world()
    open_session(world, Journal(path), "one").call("desk", "count_up", {"id": "t0"})

    again(world, path, "one").call("desk", "count_up", {"id": "t0"})

    assert count_of(again(world, path, "one")) == 2


def test_a_fork_is_recovered_with_its_parent_s_first_steps(
    tmp_path: Path, journal: Journal
) -> None:
    world = desk_world()
    session = open_session(world, journal, "parent")
    session.call("desk", "count_up", {"id": "t0"})
    early = session.snapshot()
    session.call("desk", "count_up", {"id": "t0"})
    fork = session.fork("child", at=early).fork("grandchild")
    fork.call("desk", "close", {"id": "t0"})
    journal.flush()

    found = again(world, tmp_path / "journal.db", "grandchild")

    assert state_hash(found.state) == state_hash(fork.state)
    assert count_of(found) == 1


def test_a_long_line_of_forks_is_recovered(tmp_path: Path) -> None:
    world, path = desk_world(), tmp_path / "journal.db"
    journal = Journal(path, CommitMode.GROUP)
    session = open_session(world, journal, "s0")
    for number in range(1, 1500):
        session = session.fork(f"s{number}")
    session.call("desk", "count_up", {"id": "t0"})
    journal.flush()

    assert count_of(again(world, path, "s1499")) == 1


def test_an_id_without_bytes_is_refused_and_spoils_nothing(tmp_path: Path) -> None:
    world, path = desk_world(), tmp_path / "journal.db"
    journal = Journal(path, CommitMode.GROUP)
    session = open_session(world, journal, "one")

    with pytest.raises(ToolError, match="no valid text"):
        open_session(world, journal, "\ud800")
    session.call("desk", "count_up", {"id": "t0"})
    journal.flush()

    assert count_of(again(world, path, "one")) == 1


def test_a_world_that_changed_is_told_from_the_journal(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    session = open_session(desk_world(), Journal(path), "one")
    session.call("desk", "count_up", {"id": "t0"})
    session.call("desk", "get", {"id": "t0"})
    other_step = changer({"count": {"@add": ["$item.count", 2]}})
    other_answer = {"lookups": {"ticket": {"table": "ticket", "equals": "$args.id"}}, "result": {}}
    text = {"type": "string"}

    with pytest.raises(EnvironmentFault, match=r"step 1 .*count_up"):
        again(desk_world(3, count_up=(schema(("id",), id=text), other_step)), path, "one")
    with pytest.raises(EnvironmentFault, match=r"step 2 .*get"):
        again(desk_world(3, get=(schema(("id",), id=text), other_answer)), path, "one")
    with pytest.raises(EnvironmentFault, match="began in another state"):
        again(desk_world(4), path, "one")


def test_names_that_are_no_text_cannot_spoil_the_journal(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    session = open_session(desk_world(), Journal(path), "one")

    record = session.call("desk", "\ud800", {}, key="\udfff")
    session.call("desk", "count_up", {"id": "t0"})

    assert record.envelope["error"]["code"] == "unknown_tool"
    assert session.call("desk", "\ud800", {}, key="\udfff") is record
    assert count_of(again(desk_world(), path, "one")) == 1


def test_an_unknown_session_cannot_be_recovered(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="no such session"):
        again(desk_world(), tmp_path / "journal.db", "nobody")


def test_a_journal_has_one_session_of_an_id(tmp_path: Path, journal: Journal) -> None:
    world = desk_world()
    open_session(world, journal, "one")
    journal.flush()

    with pytest.raises(ToolError, match="exists"):
        open_session(world, journal, "one")
    with pytest.raises(ToolError, match="exists"):
        open_session(world, Journal(tmp_path / "journal.db"), "one")


def test_grouped_calls_are_durable_after_the_flush_and_not_before(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    journal = Journal(path, CommitMode.GROUP)
    session = open_session(desk_world(), journal, "one")
    journal.flush()
    session.call("desk", "count_up", {"id": "t0"})

    before = again(desk_world(), path, "one")
    journal.flush()
    after = again(desk_world(), path, "one")

    assert (count_of(before), count_of(after)) == (0, 1)


async def test_many_sessions_share_a_commit_and_each_answer_waits_for_it(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    journal = Journal(path, CommitMode.GROUP)
    world = desk_world()
    sessions = [open_session(world, journal, f"s{number:02d}") for number in range(20)]
    durable: list[int] = []

    async def play(session: Session) -> None:
        for _ in range(3):
            await session.acall("desk", "count_up", {"id": "t0"})
            durable.append(count_of(again(world, path, session.session_id)))

    await asyncio.gather(*map(play, sessions))

    assert sorted(durable) == [1] * 20 + [2] * 20 + [3] * 20
    assert number_of_batches(path) <= 4


def number_of_batches(path: Path) -> int:
    import sqlite3

    with sqlite3.connect(path) as database:
        (count,) = database.execute("SELECT count(*) FROM batches").fetchone()
    database.close()
    return int(count)


async def test_a_cancelled_call_takes_nobody_else_with_it(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.db", CommitMode.GROUP)
    world = desk_world()
    one, other = open_session(world, journal, "one"), open_session(world, journal, "other")

    tasks = [
        asyncio.ensure_future(session.acall("desk", "count_up", {"id": "t0"}))
        for session in (one, other)
    ]
    asyncio.get_running_loop().call_soon(tasks[0].cancel)
    results = await asyncio.gather(*tasks, return_exceptions=True)

    assert isinstance(results[0], asyncio.CancelledError)
    assert not isinstance(results[1], BaseException)
    journal.flush()
    assert count_of(again(world, tmp_path / "journal.db", "one")) == 1


async def test_a_commit_that_fails_is_an_error_for_all_and_can_be_tried_again(
    tmp_path: Path,
) -> None:
    import sqlite3

    path = tmp_path / "journal.db"
    journal = Journal(path, CommitMode.GROUP)
    session = open_session(desk_world(), journal, "one")
    journal.flush()
    with sqlite3.connect(path) as database:
        database.execute(
            "CREATE TRIGGER full BEFORE INSERT ON batches BEGIN SELECT RAISE(ABORT, 'full'); END"
        )
    with pytest.raises(ToolError, match="full"):
        await session.acall("desk", "count_up", {"id": "t0"}, key="k")
    with sqlite3.connect(path) as database:
        database.execute("DROP TRIGGER full")
    database.close()

    record = await session.acall("desk", "count_up", {"id": "t0"}, key="k")

    assert record.envelope["data"]["ticket"]["count"] == 1
    assert count_of(again(desk_world(), path, "one")) == 1


def test_records_of_a_session_can_be_replayed_elsewhere() -> None:
    world = desk_world()
    session = open_session(world)
    records = [session.call("desk", "create", {"subject": f"s{n % 2}"}) for n in range(4)]

    state, copies = replay(world, world.initial, records)

    assert state_hash(state) == state_hash(session.state)
    assert list(copies) == records


def test_a_file_of_another_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    journal = Journal(path)
    journal._database.execute("PRAGMA user_version = 99")
    journal.close()

    with pytest.raises(ToolError, match="version 99"):
        Journal(path)
    path.write_bytes(b"no database at all" * 100)
    with pytest.raises(ToolError, match="journal"):
        Journal(path)


def test_the_table_of_sessions_finds_forks_and_closes_them(tmp_path: Path) -> None:
    world = desk_world()
    sessions = Sessions(Journal(tmp_path / "journal.db"))
    session = sessions.open(world, "one")
    session.call("desk", "count_up", {"id": "t0"})
    fork = sessions.fork("one")

    assert sessions.find(fork.session_id) is fork
    assert len(sessions) == 2
    with pytest.raises(ToolError, match="open"):
        sessions.open(world, "one")
    sessions.close("one")
    with pytest.raises(ToolError, match="no such session"):
        sessions.find("one")
    assert count_of(sessions.resume(world, "one")) == 1
    assert sessions.resume(world, "one") is sessions.find("one")


def test_without_a_journal_nothing_can_be_resumed() -> None:
    sessions = Sessions()
    sessions.open(desk_world(), "one")
    sessions.close("one")

    with pytest.raises(ToolError, match="no such session"):
        sessions.resume(desk_world(), "one")
