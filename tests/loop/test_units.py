"""The unit log: what was put is there, once, and damage is told."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest

from components.errors import LedgerError
from components.records.frozen import content_hash
from loop.ledger_records import Change
from loop.units import UnitLog


def test_units_come_back_by_stage_in_the_order_of_their_keys(tmp_path: Path) -> None:
    path = tmp_path / "units.sqlite"
    with UnitLog(path) as units:
        units.put("rollout", "b", {"text": "\u4e2d \ud800"})
        units.put_many("rollout", {"c": [1], "a": None})
        units.put("score", "a", 1)

    with UnitLog(path) as units:
        found = units.done("rollout")

    assert list(found.items()) == [("a", None), ("b", {"text": "\u4e2d \ud800"}), ("c", [1])]


def test_a_unit_that_is_there_is_never_replaced(tmp_path: Path) -> None:
    with UnitLog(tmp_path / "units.sqlite") as units:
        units.put("rollout", "a", 1)
        units.put("rollout", "a", 2)

        assert units.done("rollout") == {"a": 1}


def test_a_batch_is_kept_whole_or_not_at_all(tmp_path: Path) -> None:
    with UnitLog(tmp_path / "units.sqlite") as units:
        with pytest.raises(ValueError, match="not JSON compliant"):
            units.put_many("rollout", {"a": 1, "b": float("nan")})

        assert units.done("rollout") == {}


def test_a_changed_unit_is_told_by_name(tmp_path: Path) -> None:
    path = tmp_path / "units.sqlite"
    with UnitLog(path) as units:
        units.put("rollout", "r1", {"passed": False})
    database = sqlite3.connect(path)
    database.execute("UPDATE units SET body = CAST('{\"passed\":true}' AS BLOB)")
    database.commit()
    database.close()

    with (
        UnitLog(path) as units,
        pytest.raises(LedgerError, match=r"unit rollout/r1 in .* is damaged"),
    ):
        units.done("rollout")


def test_a_unit_of_another_shape_is_told_by_name_though_its_hash_is_right(tmp_path: Path) -> None:
    with UnitLog(tmp_path / "units.sqlite") as units:
        units.put("one", "r1", {"round": "one"})
        units.put("many", "r2", 7)

        with pytest.raises(LedgerError, match=r"unit one/r1 in .* is damaged \(.*: .*\); restore"):
            units.records("one", Change)
        with pytest.raises(LedgerError, match=r"unit many/r2 in .* is damaged \(it is no unit"):
            units.record_lists("many", Change)


def test_a_file_that_is_no_database_is_one_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "units.sqlite"
    path.write_bytes(b"not a database at all, " * 100)

    with pytest.raises(LedgerError) as caught:
        UnitLog(path)

    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_units_of_a_finished_stage_are_those_that_were_recorded(tmp_path: Path) -> None:
    with UnitLog(tmp_path / "units.sqlite") as units:
        units.put_many("rollout", {"a": 1, "b": 2})
        whole = {"a": content_hash(1), "b": content_hash(2)}
        units.refuse_other_units("rollout", whole)

        for other in ({**whole, "c": content_hash(3)}, {"a": whole["a"]}, {**whole, "b": "0"}):
            with pytest.raises(LedgerError, match=r"units\.sqlite is damaged \(unit rollout/[bc]"):
                units.refuse_other_units("rollout", other)


def test_a_reader_sees_what_a_driver_has_put_and_makes_no_file(tmp_path: Path) -> None:
    path = tmp_path / "units.sqlite"
    with UnitLog(path) as driver:
        driver.put("rollout", "a", {"n": 1})
        files = {item.name: item.read_bytes() for item in tmp_path.iterdir()}
        assert len(files) == 3

        with UnitLog(path, read_only=True) as reader:
            assert reader.done("rollout") == {"a": {"n": 1}}
            driver.put("rollout", "b", {"n": 2})
            assert reader.keys("rollout") == ("a", "b")
            assert reader.done("rollout", "b") == {"b": {"n": 2}}
            with pytest.raises(LedgerError, match="cannot be used"):
                reader.put("rollout", "c", {})
        assert {item.name for item in tmp_path.iterdir()} == set(files)
        driver.put("rollout", "c", {"n": 3})

    with UnitLog(path, read_only=True) as reader:
        assert reader.keys("rollout") == ("a", "b", "c")
    assert [item.name for item in tmp_path.iterdir()] == ["units.sqlite"]


def test_a_reader_sees_what_a_killed_driver_left(tmp_path: Path) -> None:
    with UnitLog(tmp_path / "units.sqlite") as driver:
        driver.put("rollout", "a", {"n": 1})
        shutil.copytree(tmp_path, tmp_path.parent / "left")
    path = tmp_path.parent / "left" / "units.sqlite"
    before = sorted(item.name for item in path.parent.iterdir())

    with UnitLog(path, read_only=True) as reader:
        assert reader.done("rollout") == {"a": {"n": 1}}

    assert sorted(item.name for item in path.parent.iterdir()) == before


def test_a_file_without_a_table_reads_as_empty(tmp_path: Path) -> None:
    (tmp_path / "units.sqlite").touch()

    with UnitLog(tmp_path / "units.sqlite", read_only=True) as reader:
        assert reader.is_empty
        assert reader.keys("rollout") == ()
