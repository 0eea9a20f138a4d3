"""What a new or renamed row is called: by its caller, by the row that it copies, or by the service.

Owns that a name is not empty, is no other row's, and is found where other tools look for it.
"""

from __future__ import annotations

from typing import Any

from components.environment.compiler.inputs import Input, Tool, element_value, item_inputs
from components.environment.compiler.renames import is_copy
from components.environment.compiler.rows import Picked, column_of, fits, pick
from components.environment.compiler.table import RENAMES, KeyKind, Table
from components.environment.names import is_id_of, snake
from components.environment.reading.records import Role
from components.records.blueprint import Check, FieldType
from components.records.calls import ErrorCode


def origin_of(tool: Tool, table: Table) -> Picked | None:
    """Return what picks the row that a copy is made of; None where a tool makes no copy."""
    if not is_copy(tool):
        return None
    names = [item for item in tool.data if table.find(item.word) == table.names[0]]
    old = [item for item in names if not item.word.startswith(RENAMES) and item.is_always_given]
    if len(old) != 1 or tool.first(Role.BATCH) is not None:
        return None
    new = {table.find(item.word) for item in names if item is not old[0]}
    if table.kind is KeyKind.GIVEN and not new:
        return None
    places = [i for i in tool.of(Role.PARENT) if i is not old[0] and column_of(i, table)]
    picked = pick(table, [*places, old[0]])
    return None if picked.is_many or old[0] not in picked.inputs else picked


def is_copied(name: str, table: Table) -> bool:
    """True for a column that a copy takes over."""
    return name not in table.names and not table.columns[name].body.generated


def names_rows(batch: Input, table: Table) -> str | None:
    """Return the path in an element of a list by which it names a row that is there; None where
    the elements are new rows.
    """
    if table.kind not in (KeyKind.GENERATED, KeyKind.COUNTED):
        return None
    return next(
        (
            name
            for name, param in item_inputs(batch).items()
            if is_id_of(param.word, table.noun) and table.find(param.word) == table.names[0]
        ),
        None,
    )


def origin_of_element(batch: Input, own: str, table: Table) -> Any:
    """Return the expression of the row that an element of a list names."""
    row = {"table": table.noun, "equals": element_value(batch, own)}
    return {"@row": row if table.key == table.names[0] else {**row, "field": table.names[0]}}


def are_there(batch: Input, own: str, table: Table) -> dict[str, Check]:
    """Every element of a list must name a row."""
    missing = {"@find": [batch.ref, {"@is_null": origin_of_element(batch, own, table)}]}
    return {
        "are_there": Check(
            holds={"@is_null": missing},
            code=ErrorCode.NOT_FOUND,
            message=f"one of {batch.param.name} names no {table.noun}",
        )
    }


def titles_of(item: Input, table: Table, column: str) -> tuple[str, ...]:
    """Return the column of an input's own name where it names its row by another one: a sheet's
    `new_name` is its `sheet` for other tools, and still its name.
    """
    own = table.find(item.param.word) if item.called else None
    is_other = own is not None and own != column and fits(item, table.columns[own].body.type)
    return (own,) if own is not None and is_other else ()


def next_name(table: Table, name: str) -> Any:
    """A name that the service makes itself, where the caller gives none."""
    number = {"@add": [{"@count": {"table": table.noun}}, 1]}
    if table.columns[name].body.type is FieldType.STRING:
        return {"@concat": [f"{snake(table.noun)}-", number]}
    return number


def has_name(tool: Tool, table: Table) -> dict[str, Check]:
    """The key that a caller gives to a new row may not be empty."""
    item = next((item for item in tool.data if table.find(item.word) == table.key), None)
    if table.kind is not KeyKind.GIVEN or item is None or item.is_list:
        return {}
    return {
        "has_a_name": Check(
            holds={"@ne": [item.ref, ""]},
            code=ErrorCode.INVALID_ARGUMENTS,
            message=f"{item.param.name} must not be empty",
        )
    }


def is_new(tool: Tool, table: Table, skip: tuple[Input, ...] = ()) -> dict[str, Check]:
    """What names a row must be new, where the caller gives it and it is no key of the engine."""
    if table.kind is not KeyKind.NATURAL:
        return {}
    given = {
        column: item
        for item in tool.data
        if item.is_always_given
        and (column := table.find(item.word)) in table.names
        and (item not in skip or (item.role is Role.PARENT and column != table.names[0]))
    }
    if set(given) != set(table.names):
        return {}
    same = {"@and": [{"@eq": [f"$item.{name}", given[name].ref]} for name in sorted(given)]}
    count = {"@count": {"table": table.noun, "where": same}}
    return {
        "is_new": Check(
            holds={"@eq": [count, 0]},
            code=ErrorCode.CONFLICT,
            message=f"there is such a {table.noun} already",
        )
    }


def is_free(tool: Tool, table: Table, skip: tuple[Input, ...]) -> dict[str, Check]:
    """The new name of a row may be no other row's."""
    new = next(
        (item for item in tool.data if item not in skip and table.find(item.word) in table.names),
        None,
    )
    if new is None or table.kind is not KeyKind.NATURAL or new.is_list:
        return {}
    column = table.find(new.word)
    others = [name for name in table.names if name != column]
    same = [{"@eq": [f"$item.{column}", new.ref]}]
    same += [{"@eq": [f"$item.{name}", f"$found.{name}"]} for name in others]
    if any(item.is_list for item in skip):
        return {}
    count = {"@count": {"table": table.noun, "where": {"@and": same}}}
    return {
        "is_free": Check(
            holds={"@or": [{"@eq": [new.ref, f"$found.{column}"]}, {"@eq": [count, 0]}]},
            code=ErrorCode.CONFLICT,
            message=f"there is such a {table.noun} already",
        )
    }
