from __future__ import annotations

import random

import immutables
import pytest

from components.environment.state import (
    Row,
    Table,
    WorldState,
    diff_states,
    net_changes,
    recomputed_digest,
    row_change,
    row_of,
    rows_of,
    state_hash,
)
from components.environment.values import same, settle
from components.records.calls import RowChange
from components.records.frozen import FrozenDict

NOW = "2026-01-01T00:00:00Z"


def row(row_id: str, size: int = 0) -> Row:
    return Row(FrozenDict({"id": row_id, "size": size}), "desk", "box", row_id)


def state(table: Table) -> WorldState:
    return WorldState(immutables.Map({"desk": immutables.Map({"box": table})}), NOW)


def test_a_table_keeps_order_digest_and_indexes_through_any_edits() -> None:
    draw = random.Random("edits")
    model: dict[str, int] = {f"k{number:03d}": number for number in range(40)}
    table = Table.of({key: row(key, size) for key, size in model.items()})

    for number in range(400):
        key = f"k{draw.randrange(60):03d}"
        if draw.random() < 0.4 and key in model:
            table = table.remove(key)
            del model[key]
        else:
            table = table.put(key, row(key, number % 7))
            model[key] = number % 7
        if draw.random() < 0.3:
            assert table.ids == tuple(sorted(model))
        if draw.random() < 0.3:
            wanted = sorted(key for key, size in model.items() if size == 3)
            found = table.find("size", 3)
            assert (found["id"] if found else None) == (wanted[0] if wanted else None)

    fresh = Table.of({key: row(key, size) for key, size in model.items()})
    assert table.digest == fresh.digest
    assert [values["id"] for values in table.in_order()] == sorted(model)


def test_an_earlier_table_stays_as_it_was() -> None:
    first = Table.of({"a": row("a")})

    second = first.put("b", row("b")).put("a", row("a", 5)).remove("b")

    assert first.ids == ("a",)
    assert first.values_of("a") == {"id": "a", "size": 0}
    assert second.values_of("a") == {"id": "a", "size": 5}
    assert second.values_of("b") is None


def test_an_id_of_another_type_is_not_there() -> None:
    table = Table.of({"1": row("1")})

    assert table.values_of(1) is None
    assert table.values_of(["1"]) is None
    assert table.get(None) is None


def test_true_does_not_find_one() -> None:
    table = Table.of({"a": row("a", 1)})

    assert table.find("size", True) is None
    assert table.find("size", 1) == {"id": "a", "size": 1}


def test_the_hash_depends_on_rows_and_not_on_the_way_to_them() -> None:
    start = Table.of({"a": row("a")})

    one = state(start.put("b", row("b")).put("c", row("c", 1)))
    other = state(start.put("c", row("c")).put("b", row("b")).put("c", row("c", 1)))

    assert state_hash(one) == state_hash(other)
    assert state_hash(one) != state_hash(state(start))
    assert len(state_hash(one)) == 32


def test_the_same_row_elsewhere_is_another_state() -> None:
    values = FrozenDict({"id": "a"})
    digests = {
        Row(values, "desk", "box", "a").digest,
        Row(values, "shop", "box", "a").digest,
        Row(values, "desk", "bag", "a").digest,
    }

    assert len(digests) == 3


def test_the_digest_of_a_state_is_kept_up_to_date() -> None:
    before = state(Table.of({"a": row("a")}))

    after = before.with_table("desk", "box", before.table("desk", "box").put("b", row("b")))

    assert after.digest == recomputed_digest(after.services) != before.digest
    assert WorldState(after.services, NOW).digest == after.digest


def test_a_state_cannot_be_changed() -> None:
    whole = state(Table.of({"a": row("a")}))

    with pytest.raises(AttributeError):
        whole.now = "later"  # type: ignore[misc]
    with pytest.raises(TypeError):
        rows_of(whole, "desk", "box")["a"]["size"] = 9
    rows_of(whole, "desk", "box").clear()
    assert row_of(whole, "desk", "box", "a") == {"id": "a", "size": 0}


def test_reading_what_is_not_there_gives_none() -> None:
    whole = state(Table.of({"a": row("a")}))

    assert row_of(whole, "desk", "box", "z") is None
    assert row_of(whole, "desk", "bag", "a") is None
    assert row_of(whole, "shop", "box", "a") is None


def test_a_diff_names_created_updated_and_deleted_rows_in_order() -> None:
    table = Table.of({"a": row("a"), "b": row("b")})

    changes = diff_states(
        state(table), state(table.put("c", row("c")).put("a", row("a", 2)).remove("b"))
    )

    assert [(change.row_id, change.before, change.after) for change in changes] == [
        ("a", {"id": "a", "size": 0}, {"id": "a", "size": 2}),
        ("b", {"id": "b", "size": 0}, None),
        ("c", None, {"id": "c", "size": 0}),
    ]


def test_net_changes_forget_what_was_undone() -> None:
    one, two = FrozenDict({"id": "a", "size": 1}), FrozenDict({"id": "a", "size": 2})
    true = FrozenDict({"id": "b", "size": True})

    changes = net_changes(
        [
            row_change("desk", "box", "a", one, two, "effect:x"),
            row_change("desk", "box", "c", None, one, "effect:x"),
            row_change("desk", "box", "a", two, one, "effect:y"),
            row_change("desk", "box", "b", one, two, "effect:x"),
            row_change("desk", "box", "b", two, true, "effect:y"),
            row_change("desk", "box", "c", one, None, "effect:z"),
        ]
    )

    assert [(change.row_id, change.before, change.after) for change in changes] == [
        ("b", one, true)
    ]


def test_a_change_made_lightly_is_the_record_that_validation_would_make() -> None:
    values = FrozenDict({"id": "a"})

    light = row_change("desk", "box", "a", None, values, "effect:x")

    assert light == RowChange.model_validate(light.model_dump())
    assert light.model_copy(update={"cause": "other"}).cause == "other"


def test_a_row_has_a_largest_size() -> None:
    with pytest.raises(ValueError, match="bytes"):
        Row(FrozenDict({"id": "a", "text": "x" * (1 << 20)}), "desk", "box", "a")


def test_values_settle_into_one_form_that_shares_nothing() -> None:
    inner = [1, 2.0, {"k": [None, True]}]

    settled = settle({"list": inner})
    inner.append("later")

    assert settled == {"list": (1, 2, {"k": (None, True)})}
    assert type(settled["list"][1]) is int
    with pytest.raises(TypeError):
        settled["list"][2]["k"] = 1


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        float("inf"),
        2**63,
        -(2**63) - 1,
        "\ud800",
        {"\udfff": 1},
        {1: 2},
        {None: 2},
        {"a": {1, 2}},
        b"bytes",
        object(),
        [[[[]]]] and eval("[" * 70 + "]" * 70),
    ],
)
def test_what_is_no_json_does_not_settle(value: object) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        settle(value)


def test_equality_is_that_of_json() -> None:
    assert same([1, {"a": 2.0}], (1, FrozenDict({"a": 2})))
    assert not same(True, 1)
    assert not same({"a": [0]}, {"a": [False]})
    assert not same([1], [1, 2])
    assert not same({"a": None}, {})
    assert not same("1", 1)
