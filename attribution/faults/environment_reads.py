"""Faults of what tools that look a row up find and answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from attribution.change import Change
from attribution.evidence import pointer_of
from attribution.faults.environment_order import first_states, reads, tools, used_paths
from attribution.faults.environment_places import ToolPlace, fields_like, is_plain_text, kind
from attribution.faults.kinds import Clean, When, change_of
from components.records.base import to_json
from components.records.blueprint import FieldType, FunctionalClass, Quarantine, QuarantineReason
from components.records.frozen import thaw


def _condition(at: ToolPlace, lookup: str) -> Any:
    """Return by which condition over `$item` a lookup finds its row; None for another form."""
    found = at.body.lookups[lookup]
    if found.where:
        return None
    field = found.field or at.entities[found.table].key
    return {"@eq": [f"$item.{field}", thaw(found.equals)]}


def _other_row_returned(clean: Clean) -> Iterator[Change]:
    for at, _key, lookup in reads(clean):
        condition = _condition(at, lookup)
        if condition is not None:
            path = ("lookups", lookup, "where")
            operation = at.put({"other": {"@not": condition}}, *path)
            yield at.change([operation], ("lookups", lookup), "another row is returned")


def _rows_hidden(clean: Clean) -> Iterator[Change]:
    met = first_states(clean)
    for at, _key, lookup in reads(clean):
        condition = _condition(at, lookup)
        table = at.body.lookups[lookup].table
        if condition is not None and (at.service, table) in met:
            field, value = met[at.service, table]
            where = {"key": condition, "shown": {"@ne": [f"$item.{field}", value]}}
            operation = at.put(where, "lookups", lookup, "where")
            why = f"a {table} whose {field} is {value!r} is not found"
            yield at.change([operation], ("lookups", lookup), why)


def _looked_up_by_other_field(clean: Clean) -> Iterator[Change]:
    for at, _key, lookup in reads(clean):
        found = at.body.lookups[lookup]
        entity = at.entities[found.table]
        this = found.field or entity.key
        others = [
            name
            for name, field in sorted(entity.fields.items())
            if name != this and is_plain_text(field)
        ]
        if others and not found.where:
            other = clean.rng.choice(others)
            operation = at.put(other, "lookups", lookup, "field")
            why = f"the {found.table} is looked up by {other} instead of {this}"
            yield at.change([operation], ("lookups", lookup, "field"), why)


def _answer_fields(clean: Clean) -> Iterator[tuple[ToolPlace, str, str, str]]:
    """Yield tool, key of its answer, lookup and a field of that row: those first that gold
    takes values from.
    """
    later = []
    for at, key, lookup in reads(clean):
        entity = at.entities[at.body.lookups[lookup].table]
        used = list(used_paths(clean, at.service, at.tool, key))
        for name in used:
            if name in entity.fields:
                yield at, key, lookup, name
        others = [name for name in sorted(entity.fields) if name not in used]
        later.append((at, key, lookup, clean.rng.choice(others) if others else entity.key))
    yield from later


def _answer_field_renamed(clean: Clean) -> Iterator[Change]:
    for at, key, lookup, name in _answer_fields(clean):
        first, *rest = name.split("_")
        other = first + "".join(part.title() for part in rest) if rest else f"{name}_value"
        row = {"@merge": [{"@omit": [f"${lookup}", [name]]}, {other: f"${lookup}.{name}"}]}
        why = f"{name} is called {other} in the answer"
        yield at.change([at.put(row, "result", key)], ("result", key), why)


def _answer_field_missing(clean: Clean) -> Iterator[Change]:
    for at, key, lookup, name in _answer_fields(clean):
        row = {"@omit": [f"${lookup}", [name]]}
        yield at.change([at.put(row, "result", key)], ("result", key), f"{name} is not answered")


def _answer_fields_exchanged(clean: Clean) -> Iterator[Change]:
    for at, key, lookup, name in _answer_fields(clean):
        entity = at.entities[at.body.lookups[lookup].table]
        others = fields_like(entity, name)
        if others and name != entity.key:
            other = clean.rng.choice(others)
            swapped = {name: f"${lookup}.{other}", other: f"${lookup}.{name}"}
            row = {"@merge": [f"${lookup}", swapped]}
            why = f"{name} and {other} are exchanged in the answer"
            yield at.change([at.put(row, "result", key)], ("result", key), why)


def _answer_in_other_unit(clean: Clean) -> Iterator[Change]:
    for at, key, lookup in reads(clean):
        entity = at.entities[at.body.lookups[lookup].table]
        for name, field in sorted(entity.fields.items()):
            if field.type in (FieldType.INTEGER, FieldType.NUMBER):
                value = f"${lookup}.{name}"
                scaled = {"@if": [{"@is_null": value}, None, {"@mul": [value, 100]}]}
                row = {"@merge": [f"${lookup}", {name: scaled}]}
                why = f"{name} is answered a hundredfold"
                yield at.change([at.put(row, "result", key)], ("result", key), why)


def _tool_in_quarantine(clean: Clean) -> Iterator[Change]:
    for at in tools(clean):
        kept = Quarantine(
            reason=QuarantineReason.FAILED_SELF_TEST, detail="A self test did not end in time."
        )
        path = ("quarantined", at.tool)
        yield change_of(
            f"blueprint/{at.service}",
            [("add", pointer_of(*path), to_json(kept))],
            path,
            f"{at.service}.{at.tool} is not offered",
        )


def _id_not_returned(clean: Clean) -> Iterator[Change]:
    for at in tools(clean, FunctionalClass.WRITE):
        creates = {name for name, effect in at.body.effects.items() if effect.action == "create"}
        result = at.body.result
        for key, value in sorted(result.items() if isinstance(result, Mapping) else ()):
            if isinstance(value, str) and value[1:].partition(".")[0] in creates:
                operation = ("remove", at.at("result", key), None)
                yield at.change([operation], ("result", key), f"{key} is not answered")


def _impure_read(clean: Clean) -> Iterator[Change]:
    for at, _key, lookup in reads(clean):
        table = at.body.lookups[lookup].table
        for name, field in sorted(at.entities[table].fields.items()):
            if field.nullable and not field.enum:
                effect = {
                    "action": "update",
                    "table": table,
                    "target": lookup,
                    "fields": {name: None},
                }
                path = ("effects", "on_read")
                why = f"a reading empties {name}"
                yield at.change([at.put(effect, *path)], path, why)
                break


KINDS = (
    kind(
        "other_row_returned",
        "A tool that gets one row answers with another.",
        _other_row_returned,
    ),
    kind(
        "rows_of_one_state_hidden",
        "Rows in one state are not found, though they are there.",
        _rows_hidden,
    ),
    kind(
        "looked_up_by_other_field",
        "A row is looked up by another field than the one that the caller gives.",
        _looked_up_by_other_field,
        When.BEFORE,
    ),
    kind(
        "answer_field_renamed",
        "A field is called otherwise in the answer than in the documentation.",
        _answer_field_renamed,
    ),
    kind("answer_field_missing", "A field is left out of the answer.", _answer_field_missing),
    kind(
        "answer_fields_exchanged",
        "Two fields of one type are exchanged in the answer.",
        _answer_fields_exchanged,
        When.BEFORE,
    ),
    kind(
        "answer_in_other_unit",
        "A number is answered in another unit than it is kept in.",
        _answer_in_other_unit,
        When.BEFORE,
    ),
    kind(
        "tool_in_quarantine",
        "A tool that works is withheld, as if it had failed its tests.",
        _tool_in_quarantine,
    ),
    kind(
        "id_not_returned",
        "A tool that makes a row does not say which id it got.",
        _id_not_returned,
        When.BEFORE,
    ),
    kind("impure_read", "A reading tool changes the row that it reads.", _impure_read, When.BEFORE),
)
