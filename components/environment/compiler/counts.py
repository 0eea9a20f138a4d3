"""Reads that are asked how many: `get_actor_count`, `count_users`.

Owns what tells them from lists, and their answer: the number of rows that a list would show.
"""

from __future__ import annotations

from components.environment.compiler.inputs import Tool
from components.environment.compiler.table import Table
from components.environment.names import singular, tokens
from components.environment.reading.records import Role
from components.records.blueprint import Check, FieldType, Query, ToolBlueprint
from components.records.calls import ErrorCode
from components.records.frozen import FrozenDict

_COUNT = "count"


def counts_rows(tool: Tool, table: Table) -> bool:
    """True where a read's name asks for the number of a table's rows, and no row holds that."""
    parts = [singular(part) for part in tokens(tool.name)]
    is_asked = len(parts) > 1 and (parts[-1] == _COUNT or parts[0] == _COUNT)
    return is_asked and not table.is_single and not _holds_count(table)


def _holds_count(table: Table) -> bool:
    """True for a table of counts: its noun says so, or its rows are one number each."""
    numbers = (FieldType.INTEGER, FieldType.NUMBER)
    shown = [column for name, column in table.columns.items() if name not in table.names]
    is_number = len(shown) == 1 and shown[0].body.type in numbers
    return is_number or table.noun.rpartition("_")[2] == _COUNT


def count_of(listed: tuple[ToolBlueprint, str], tool: Tool) -> tuple[ToolBlueprint, str]:
    """Return a list's blueprint that answers with the number of its rows alone.

    Args:
        listed: the blueprint of the same read as a list, and what decided.
        tool: the read.
    """
    blueprint, why = listed
    if tool.spec.output_schema is not None or blueprint.query is None:
        return listed
    query = blueprint.query.model_copy(update={"limit": None, "offset": None, "cursor": None})
    checks = {**blueprint.checks, **_of_something(tool, blueprint.entity or "", query)}
    update = {
        "query": query,
        "result": FrozenDict({_COUNT: "$total"}),
        "checks": FrozenDict(checks),
    }
    return blueprint.model_copy(update=update), f"it counts; {why}"


def _of_something(tool: Tool, table: str, query: Query) -> dict[str, Check]:
    """Return the check that there is what is named: nothing is counted of what is not there."""
    named = [item for item in tool.of(Role.IDENTIFIER) if item.is_always_given]
    if not named or not query.where:
        return {}
    every = {"table": table, "where": {"@and": list(query.where.values())}}
    message = f"{named[0].param.name} names nothing that is kept"
    there = {"@gt": [{"@count": every}, 0]}
    return {"is_there": Check(holds=there, code=ErrorCode.NOT_FOUND, message=message)}
