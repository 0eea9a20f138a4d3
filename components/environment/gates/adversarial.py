"""Adversarial gate: tests from the spec alone, by code that never sees the implementation.

Owns the battery on schemas: every argument missing, of a wrong type, at and beyond its bounds,
empty, huge, in other scripts, unknown. The answer is always an envelope, an error changes nothing,
and what is answered fits the output schema. What the documentation writes is tested in
`gates_written`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import jsonschema_rs

from components.environment.expressions import ExpressionError
from components.environment.gates.probe import NO_SUCH_ROW, Prober, judge_envelope
from components.environment.gates.variants import Variants, is_documented
from components.environment.gates.written import GATE, WrittenBattery, argument_named
from components.records.calls import ErrorCode
from components.records.frozen import FrozenDict, JsonObject, thaw
from components.records.spec import ToolSpec

_HUGE_TEXT = "lorem ipsum " * 850
_TEXTS = ("", " ", "\u00e9\u4e2d\U0001f600\u202e", "a\nb\t\"'\\", _HUGE_TEXT, "$args.x", "@lit")
_OTHER_KINDS: tuple[Any, ...] = (None, True, 7, 2.5, "x", [], {}, [None], {"a": []})


def run_adversarial(prober: Prober) -> None:
    """Run both batteries on every offered tool."""
    for name in prober.tools:
        tool = prober.spec.tools[name]
        known = _named_rows(prober, tool)
        is_read_closely = is_documented(tool) or tool.output_schema is not None
        variants = Variants(prober, tool, known).all(most=0 if is_read_closely else 2)
        _schema_battery(prober, tool, variants)
        _output_schema(prober, tool, variants)
        if is_documented(tool):
            try:
                WrittenBattery(prober, tool).run(variants)
            except ExpressionError as error:
                expected = "expressions over tables and fields that there are"
                prober.fail(
                    name, GATE, "the documentation", FrozenDict(), expected, str(error)[:200]
                )


def _named_rows(prober: Prober, tool: ToolSpec) -> dict[str, list[Any]]:
    """Return, for each argument that a written rule uses to name a row, values that name one."""
    known: dict[str, list[Any]] = {}
    references = [ref for rule in tool.rules.values() for ref in rule.rows.values()]
    references += [effect.row for effect in tool.effects.values() if effect.row is not None]
    references += [back.row for back in tool.returns.values() if back.row is not None]
    for reference in references:
        name = argument_named(reference)
        if name is None or reference.table not in prober.tables:
            continue
        column = reference.field or prober.shape(reference.table)[0]
        values = known.setdefault(name, [])
        for row in prober.some_rows(reference.table):
            if row.get(column) is not None and row[column] not in values:
                values.append(row[column])
    return known


def _schema_battery(prober: Prober, tool: ToolSpec, variants: list[JsonObject]) -> None:
    bases: list[Mapping[str, Any]] = list(variants[:2]) or [FrozenDict()]
    for label, arguments in _attacks(tool, bases):
        seen = prober.call(tool.name, arguments)
        if not judge_envelope(prober, GATE, tool.name, arguments, seen):
            continue
        is_refused = seen.code == ErrorCode.INVALID_ARGUMENTS.value
        if not is_refused and not prober.is_valid(tool.name, arguments):
            rule = f"schema: {label}"
            prober.fail(tool.name, GATE, rule, arguments, "invalid_arguments", seen.told())
        if not seen.is_ok and (seen.changes or seen.state is not prober.initial):
            prober.fail(
                tool.name, GATE, "an error applies nothing", arguments, "no change", seen.told()
            )


def _output_schema(prober: Prober, tool: ToolSpec, variants: list[JsonObject]) -> None:
    """What a tool answers fits the schema that the spec gives for it."""
    if tool.output_schema is None:
        return
    try:
        validator = jsonschema_rs.validator_for(thaw(tool.output_schema))
    except (ValueError, jsonschema_rs.ReferencingError):
        return  # a schema that is none promises nothing
    for arguments in variants:
        seen = prober.call(tool.name, arguments)
        answer = seen.envelope.get("data")
        if seen.is_ok and not validator.is_valid(answer):
            first = next(iter(validator.iter_errors(thaw(answer))))
            expected = "an answer that fits the output schema"
            prober.fail(tool.name, GATE, "output schema", arguments, expected, first.message[:200])


def _attacks(
    tool: ToolSpec, bases: list[Mapping[str, Any]]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (what is wrong, arguments); whether the schema forbids it, the validator says."""
    properties = dict(tool.input_schema.get("properties") or {})
    small, full = dict(bases[0]), dict(bases[-1])
    yield "no arguments", {}
    yield "an extra argument", {**small, "surplus_argument": 1}
    for name in sorted(small):
        yield f"{name} left out", {key: item for key, item in small.items() if key != name}
    for name, schema in sorted(properties.items()):
        for value in _OTHER_KINDS:
            yield f"{name} of another kind", {**small, name: value}
        if not isinstance(schema, Mapping):
            continue
        for value in _edges(schema):
            yield f"{name} at an edge", {**small, name: value}
        for value in _list_edges(full.get(name)):
            yield f"{name} as an odd list", {**full, name: value}


def _edges(schema: Mapping[str, Any]) -> Iterator[Any]:
    kind = schema.get("type")
    kinds = kind if isinstance(kind, (list, tuple)) else (kind,)
    if "string" in kinds or kind is None:
        yield from _TEXTS
        yield NO_SUCH_ROW
        for key, step in (("maxLength", 1), ("minLength", -1)):
            if key in schema:
                yield "x" * max(0, int(schema[key]) + step)
                yield "x" * int(schema[key])
    if "integer" in kinds or "number" in kinds:
        yield from (0, -1, 1, 2.0, 10**12, 2**63, -(2**70))
        for key in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"):
            if isinstance(schema.get(key), (int, float)):
                yield from (schema[key] - 1, schema[key], schema[key] + 1)
    if schema.get("enum"):
        yield f"{schema['enum'][0]}x"
    if "object" in kinds:
        yield {"surplus": 1}


def _list_edges(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple)) and value:
        yield [*value, *value]
        yield [None]
        yield list(value) * 50
