"""Self gate: normal use from the rows that there are, and the errors that a tool itself declares.

Owns the tests that know the blueprint: each lookup finds its row and answers `not_found` without
it, each tool answers at least one well-meant call, and the seed's own links hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import zip_longest
from typing import Any

from components.environment.gates.bindings import (
    Binding,
    bindings_of,
    joint_values,
    lookup_binding,
)
from components.environment.gates.probe import Prober, absent_value, judge_envelope
from components.environment.gates.variants import Joint, Variants, is_documented
from components.records.blueprint import Blueprint, FieldType, Operation, ToolBlueprint
from components.records.calls import ErrorCode
from components.records.frozen import FrozenDict, JsonObject, canonical_json

GATE = "self"


def run_self_tests(prober: Prober, blueprint: Blueprint) -> dict[str, list[JsonObject]]:
    """Test normal use and declared errors; return the variants of each tool for later gates."""
    _seed_links(prober, blueprint)
    _seed_twins(prober, blueprint)
    variants: dict[str, list[JsonObject]] = {}
    for name in prober.tools:
        bindings = bindings_of(blueprint, blueprint.tools[name])
        variants[name] = _variants(prober, name, bindings)
        _normal_use(prober, name, variants[name])
        _unknown_rows(prober, blueprint, name, variants[name])
    return variants


def _variants(prober: Prober, name: str, bindings: list[Binding]) -> list[JsonObject]:
    """Return arguments that name rows which there are, those of one row together."""
    known: dict[str, list[Any]] = {}
    joint: list[Joint] = []
    for binding in bindings:
        rows = joint_values(prober, binding)
        for values in rows:
            for path, value in values.items():
                if len(path) == 1:
                    known.setdefault(path[0], []).append(value)
        nothing: Joint = FrozenDict()
        pairs = zip_longest(joint, rows, fillvalue=nothing)
        joint = [{**mine, **others} for mine, others in pairs]
    return Variants(prober, prober.spec.tools[name], known, joint).all()


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
        spec = prober.spec.tools[name]
        required = frozenset(spec.input_schema.get("required") or ())
        for pair in lookup_binding(blueprint, lookup).pairs:
            argument = pair.path[0] if len(pair.path) == 1 and not pair.is_list else None
            # What must be given is refused where it names nothing, by a lookup or by a check.
            if lookup.optional and (is_documented(spec) or argument not in required):
                continue
            worked = (
                item for item in variants if argument in item and prober.call(name, item).is_ok
            )
            first = next(worked, None)
            if argument is None or first is None:
                continue
            absent = absent_value(prober, name, first, argument)
            if absent is None:
                continue
            changed = {**first, argument: absent}
            seen = prober.call(name, changed)
            if seen.is_ok or (not lookup.optional and seen.code != ErrorCode.NOT_FOUND.value):
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


def _seed_twins(prober: Prober, blueprint: Blueprint) -> None:
    """No row is there a second time under another key.

    Rows of a compiled service are drawn, and may come out alike: there it counts only where tools
    find one row by other columns, since which of the two they find would hang on the keys' order.
    """
    lookups = [item for tool in blueprint.tools.values() for item in tool.lookups.values()]
    for table, entity in sorted(blueprint.entities.items()):
        named = {item.field for item in lookups if item.table == table and item.field}
        columns = (named & set(entity.fields)) - {entity.key}
        first: dict[bytes, str] = {}
        for row_id, row in prober.rows(table).items():
            is_found = any(row.get(column) is not None for column in columns)
            if blueprint.inferred and not is_found:
                continue
            others = {name: value for name, value in row.items() if name != entity.key}
            twin = first.setdefault(canonical_json(others), row_id)
            if twin != row_id:
                prober.fail(
                    "", GATE, f"seed rows of {table}", {"row": row_id},
                    f"another row than {twin}", "they differ in nothing but the key",
                )  # fmt: skip
                break


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
