"""Self gate: normal use from the rows that there are, and the errors that a tool itself declares.

Owns the tests that know the blueprint: each lookup finds its row and answers `not_found` without
it, each tool answers at least one well-meant call, and the seed's own links hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from components.environment.gates.probe import (
    Prober,
    Variants,
    absent_value,
    diverse,
    judge_envelope,
)
from components.records.blueprint import Blueprint, FieldType, Operation, ToolBlueprint
from components.records.calls import ErrorCode
from components.records.frozen import FrozenDict, JsonObject

GATE = "self"


def run_self_tests(prober: Prober, blueprint: Blueprint) -> dict[str, list[JsonObject]]:
    """Test normal use and declared errors; return the variants of each tool for later gates."""
    _seed_links(prober, blueprint)
    variants: dict[str, list[JsonObject]] = {}
    for name in prober.tools:
        tool = blueprint.tools[name]
        known = looked_up(prober, blueprint, tool)
        variants[name] = Variants(prober, prober.spec.tools[name], known).all()
        _normal_use(prober, name, variants[name])
        _unknown_rows(prober, blueprint, name, variants[name])
    return variants


def looked_up(prober: Prober, blueprint: Blueprint, tool: ToolBlueprint) -> dict[str, list[Any]]:
    """Return, for each argument that a lookup reads, the values that find a row."""
    known: dict[str, list[Any]] = {}
    for _, lookup in sorted(tool.lookups.items()):
        name = argument_of(lookup.equals)
        if name is None:
            continue
        column = lookup.field or blueprint.entities[lookup.table].key
        rows = diverse(prober.rows(lookup.table).values())
        values = [row[column] for row in rows if row.get(column) is not None]
        known[name] = [*known.get(name, []), *values]
    return known


def argument_of(expression: Any) -> str | None:
    """Return the argument that an expression is nothing but, or None."""
    if (
        isinstance(expression, str)
        and expression.startswith("$args.")
        and expression.count(".") == 1
    ):
        return expression[6:]
    return None


def _normal_use(prober: Prober, name: str, variants: list[JsonObject]) -> None:
    if not variants:
        problem = "none could be drawn"
        prober.fail(name, GATE, "arguments", FrozenDict(), "valid arguments exist", problem)
        return
    last = ""
    for arguments in variants:
        seen = prober.call(name, arguments)
        judge_envelope(prober, GATE, name, arguments, seen)
        if seen.is_ok:
            return
        last = last or seen.told()
    prober.fail(name, GATE, "normal use", variants[0], "one well-meant call answers", last)


def _unknown_rows(
    prober: Prober, blueprint: Blueprint, name: str, variants: list[JsonObject]
) -> None:
    tool = blueprint.tools[name]
    for _, lookup in sorted(tool.lookups.items()):
        argument = argument_of(lookup.equals)
        worked = [item for item in variants if argument in item and prober.call(name, item).is_ok]
        if argument is None or lookup.optional or not worked:
            continue
        absent = absent_value(prober, name, worked[0], argument)
        if absent is None:
            continue
        changed = {**worked[0], argument: absent}
        seen = prober.call(name, changed)
        if seen.code != ErrorCode.NOT_FOUND.value:
            prober.fail(name, GATE, f"unknown {argument}", changed, "not_found", seen.told())


def _seed_links(prober: Prober, blueprint: Blueprint) -> None:
    """Every link of a seed row into its own service names a row; a broken seed is the service's
    fault.
    """
    for table, entity in sorted(blueprint.entities.items()):
        for name, body in sorted(entity.fields.items()):
            service, _, place = (body.link or "").partition(".")
            target, _, column = place.partition(".")
            if service != blueprint.service or target not in blueprint.entities:
                continue
            column = column or _named_column(blueprint, target)
            there = {_frozen(row.get(column)) for row in prober.rows(target).values()}
            for row_id, row in prober.rows(table).items():
                values = row.get(name)
                for value in values if isinstance(values, tuple) else (values,):
                    if value is not None and _frozen(value) not in there:
                        prober.fail(
                            "", GATE, f"seed link {table}.{name}", {"row": row_id},
                            f"a row of {target} with {column} {value!r}", "there is none",
                        )  # fmt: skip


def _named_column(blueprint: Blueprint, target: str) -> str:
    """Field by which tools name rows of a table: its key, or the number that stands for a hidden
    key.
    """
    entity = blueprint.entities[target]
    counted = entity.fields.get("id")
    is_counted = counted is not None and counted.type is FieldType.INTEGER
    return "id" if is_counted and entity.key != "id" else entity.key


def _frozen(value: Any) -> Any:
    return (type(value).__name__, value) if not isinstance(value, Mapping) else repr(value)


def writes_rows(tool: ToolBlueprint) -> bool:
    """True for operations that change stored rows."""
    return tool.operation not in (
        Operation.GET,
        Operation.LIST,
        Operation.SEARCH,
        Operation.COMPUTE,
        Operation.EXTERNAL,
    )
