"""Faults of what tools write."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from attribution.change import Change
from attribution.faults.environment_order import NO_ROWS, effects
from attribution.faults.environment_places import (
    EffectPlace,
    fields_like,
    is_plain_text,
    kind,
    states,
)
from attribution.faults.kinds import Clean, When
from components.records.blueprint import FieldType


def _dropped_effect(clean: Clean) -> Iterator[Change]:
    for item in effects(clean, "create", "update", "delete"):
        if not item.is_answer():
            change = item.at.put(False, *item.path, "when")
            yield item.at.change([change], (*item.path, "when"), f"{item.name} never happens")


def _targeted(clean: Clean) -> Iterator[tuple[EffectPlace, str]]:
    """Yield the updates of one row, which is not the answer, with the name of its lookup."""
    for item in effects(clean, "update"):
        if item.effect.target is not None and not item.is_answer():
            yield item, item.effect.target


def _moved(item: EffectPlace, where: Any, why: str) -> Change:
    operations = [item.at.put(None, *item.path, "target"), item.at.put(where, *item.path, "where")]
    return item.at.change(operations, item.path, why)


def _wrong_row_written(clean: Clean) -> Iterator[Change]:
    for item, target in _targeted(clean):
        key = item.entity.key
        other = {"@ne": [f"$item.{key}", f"${target}.{key}"]}
        first = {"@find": [{"@rows": {"table": item.effect.table, "where": other}}, True]}
        where = {"@eq": [f"$item.{key}", {"@field": [first, key]}]}
        yield _moved(item, where, f"{item.name} changes the first other row of the table")


def _siblings_written(clean: Clean) -> Iterator[Change]:
    for item, target in _targeted(clean):
        names = [name for name, field in sorted(item.entity.fields.items()) if field.link]
        names += states(item.entity)
        clean.rng.shuffle(names)
        for name in names:
            if name not in item.effect.fields:
                where = {"@eq": [f"$item.{name}", f"${target}.{name}"]}
                yield _moved(item, where, f"{item.name} changes every row of the same {name}")
                break


def _wrong_state_written(clean: Clean) -> Iterator[Change]:
    for item in effects(clean, "create", "update"):
        for name, field, value in item.fields():
            if field.enum and value in field.enum:
                others = [other for other in field.enum if other != value]
                wrong = clean.rng.choice(others) if others else value
                path = (*item.path, "fields", name)
                why = f"{item.name} sets {name} to {wrong!r} instead of {value!r}"
                yield item.at.change([item.at.put(wrong, *path)], path, why)


def _wrong_field_written(clean: Clean) -> Iterator[Change]:
    for item in effects(clean, "update"):
        for name, _field, value in item.fields():
            written = set(item.effect.fields)
            others = [other for other in fields_like(item.entity, name) if other not in written]
            if others and value != "$now":
                other = clean.rng.choice(others)
                path = (*item.path, "fields")
                operations = [
                    ("remove", item.at.at(*path, name), None),
                    ("add", item.at.at(*path, other), value),
                ]
                why = f"{item.name} writes {other} where {name} is meant"
                yield item.at.change(operations, (*path, name), why)


def _row_created_twice(clean: Clean) -> Iterator[Change]:
    for item in effects(clean, "create"):
        if item.entity.generated_key and item.entity.key not in item.effect.fields:
            again = item.effect.model_dump(mode="json")
            path = ("effects", f"{item.name}_again")
            why = f"{item.name} makes its row a second time"
            yield item.at.change([item.at.put(again, *path)], path, why)


def _field_reset(clean: Clean) -> Iterator[Change]:
    for item in effects(clean, "update"):
        names = [
            name
            for name, field in sorted(item.entity.fields.items())
            if name not in item.effect.fields and (field.nullable or field.default is not None)
        ]
        clean.rng.shuffle(names)
        for name in names[:2]:
            default = item.entity.fields[name].default
            path = (*item.path, "fields", name)
            why = f"{item.name} puts {name} back to {default!r}"
            yield item.at.change([item.at.put(default, *path)], path, why)


def _given(item: EffectPlace) -> Iterator[tuple[str, Any, Any]]:
    """Yield the fields that take an argument as it is."""
    for name, field, value in item.fields():
        if isinstance(value, str) and value.startswith("$args."):
            yield name, field, value


def _cut_value(clean: Clean) -> Iterator[Change]:
    for item in effects(clean, "create", "update"):
        for name, field, value in _given(item):
            if is_plain_text(field) and not field.link:
                cut = {"@part_before": [{"@part_before": [value, " "]}, "-"]}
                path = (*item.path, "fields", name)
                kept = {"@if": [{"@is_null": value}, None, cut]}
                why = f"{item.name} keeps of {name} only what is before the first space or dash"
                yield item.at.change([item.at.put(kept, *path)], path, why)


def _ignored_argument(clean: Clean) -> Iterator[Change]:
    for item in effects(clean, "create", "update"):
        for name, field, value in _given(item):
            fixed: Any = field.default
            if fixed is None and not field.nullable:
                fixed = _FIXED.get(field.type)
            if field.enum:
                fixed = fixed or field.enum[0]
            if fixed is not None or field.nullable:
                path = (*item.path, "fields", name)
                why = f"{item.name} writes {fixed!r} to {name}, whatever {value[6:]} is"
                yield item.at.change([item.at.put(fixed, *path)], path, why)


_FIXED: dict[FieldType, Any] = {
    FieldType.STRING: "unknown",
    FieldType.INTEGER: 0,
    FieldType.NUMBER: 0,
    FieldType.BOOLEAN: False,
    FieldType.TIMESTAMP: "$now",
}


def _shifted_time(clean: Clean) -> Iterator[Change]:
    for item in effects(clean, "create", "update"):
        for name, field, value in _given(item):
            if field.type is FieldType.TIMESTAMP:
                hours = clean.rng.choice([-2, -1, 1, 2])
                shifted = {"@if": [{"@is_null": value}, None, {"@hours_after": [value, hours]}]}
                path = (*item.path, "fields", name)
                why = f"{item.name} writes {name} {hours} hours off"
                yield item.at.change([item.at.put(shifted, *path)], path, why)


def _number_taken(clean: Clean) -> Iterator[Change]:
    for item in effects(clean, "create"):
        seed = clean.system.environment.seeds[item.at.service]
        found = seed.tables.get(item.effect.table, NO_ROWS)
        for name, field, value in item.fields():
            if field.generated and isinstance(value, dict) and found:
                taken = found[min(found)][name]
                path = (*item.path, "fields", name)
                why = f"{item.name} gives every new row the {name} {taken!r}, which exists"
                yield item.at.change([item.at.put(taken, *path)], path, why)


KINDS = (
    kind(
        "dropped_effect",
        "A tool answers as if it were done, and one of its effects never happens.",
        _dropped_effect,
    ),
    kind(
        "wrong_row_written",
        "An update goes to another row than the one that the caller names.",
        _wrong_row_written,
    ),
    kind(
        "siblings_written",
        "An update of one row changes every row that shares one of its values.",
        _siblings_written,
    ),
    kind(
        "wrong_state_written",
        "A tool leaves its row in another state than it should.",
        _wrong_state_written,
    ),
    kind(
        "wrong_field_written",
        "A value is written to another field of the row than the one it is for.",
        _wrong_field_written,
    ),
    kind("row_created_twice", "One call makes its row twice.", _row_created_twice),
    kind(
        "field_reset",
        "An update also puts a field that nobody named back to its default.",
        _field_reset,
        When.BEFORE,
    ),
    kind("cut_value", "A given text is stored only in part.", _cut_value, When.BEFORE),
    kind(
        "ignored_argument",
        "A fixed value is stored whatever the caller gives.",
        _ignored_argument,
        When.BEFORE,
    ),
    kind(
        "shifted_time",
        "A given time is stored some hours off, as if in another time zone.",
        _shifted_time,
        When.BEFORE,
    ),
    kind(
        "number_taken",
        "Every new row gets a number that another row has already.",
        _number_taken,
        When.BEFORE,
    ),
)
