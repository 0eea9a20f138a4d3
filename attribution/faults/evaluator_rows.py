"""Kinds of fault of the evaluator: a criterion looks at the wrong rows, or not closely enough."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from attribution.change import Change
from attribution.evidence import pointer_of
from attribution.faults.kinds import Clean
from attribution.faults.rubric_parts import Judged, judged, kind
from components.evaluator.criteria import ROW_OF
from components.records.rubric import RowFields


def _rows(clean: Clean) -> Iterator[tuple[Judged, str, RowFields]]:
    for item in judged(clean):
        for name, criterion in item.rows():
            yield item, name, criterion


def _new_rows(clean: Clean) -> Iterator[tuple[Judged, str, RowFields]]:
    for item in judged(clean):
        for name, criterion in item.new_rows():
            yield item, name, criterion


def _wrong_row(clean: Clean) -> Iterator[Change]:
    for item, name, criterion in _rows(clean):
        row = item.seed_row(criterion)
        others = item.parts.alike(row) if row is not None else []
        if others:
            key = item.parts.entity(criterion.service, criterion.table).key
            other = clean.rng.choice(others).row_id
            yield item.set(name, ("where", key), other, f"looks at {other}")


def _renamed_field(item: Judged, name: str, old: str, new: str, reason: str) -> Change:
    at = ("criteria", name, "fields")
    return item.change(
        [
            ("remove", pointer_of(*at, old), None),
            ("add", pointer_of(*at, new), item.body(name)["fields"][old]),
        ],
        (*at, new),
        reason,
    )


def _wrong_field(clean: Clean) -> Iterator[Change]:
    for item, name, criterion in _rows(clean):
        known = item.parts.entity(criterion.service, criterion.table).fields
        for old in sorted(criterion.fields):
            others = [
                field
                for field in sorted(known)
                if field not in criterion.fields and known[field].type == known[old].type
            ]
            if others:
                new = clean.rng.choice(others)
                yield _renamed_field(item, name, old, new, f"{name} looks for the {old} in {new}")


def _unknown_field(clean: Clean) -> Iterator[Change]:
    for item, name, criterion in _rows(clean):
        for old in sorted(criterion.fields):
            new = re.sub(r"_(\w)", lambda found: found[1].upper(), old)
            if new == old:
                new = f"{old}Value"
            yield _renamed_field(item, name, old, new, f"{name} looks at {new}, which no row has")


def _wrong_table(clean: Clean) -> Iterator[Change]:
    for item, name, criterion in _rows(clean):
        tables = set(item.parts.system.environment.blueprints[criterion.service].entities)
        for other in sorted(tables - {criterion.table})[:1]:
            yield item.set(name, ("table",), other, f"looks into {other}")


def _absent_service(clean: Clean) -> Iterator[Change]:
    for item, name, _criterion in _rows(clean):
        world = item.parts.task.world
        others = sorted(
            set(item.parts.system.environment.blueprints) - {*world.services, *world.distractors}
        )
        if others:
            other = clean.rng.choice(others)
            yield item.set(name, ("service",), other, f"looks into {other}, which is not there")


def _only_new(clean: Clean) -> Iterator[Change]:
    for item, name, _criterion in _rows(clean):
        yield item.set(name, ("new_only",), True, "counts only rows that are new")


def _old_too(clean: Clean) -> Iterator[Change]:
    for item, name, criterion in _new_rows(clean):
        seed = item.parts.system.environment.seeds[criterion.service].tables[criterion.table]
        for field, value in sorted(criterion.where.items(), key=lambda pair: pair[1] is None):
            if any(row.get(field) == value for row in seed.values()):
                yield item.change(
                    [
                        ("replace", pointer_of("criteria", name, "where"), {field: value}),
                        ("replace", pointer_of("criteria", name, "new_only"), False),
                    ],
                    ("criteria", name),
                    f"{name} counts rows that were there already",
                )


def _count(clean: Clean) -> Iterator[Change]:
    for item in judged(clean):
        for name, criterion in item.row_criteria():
            yield item.set(name, ("count",), criterion.count + 1, "wants one row more")


def _inverted(clean: Clean) -> Iterator[Change]:
    for item in judged(clean):
        for name, _criterion in item.row_criteria():
            body = item.body(name)
            where = {**body["where"], **body["fields"]}
            yield item.change(
                [
                    ("replace", pointer_of("criteria", name, "where"), where),
                    ("replace", pointer_of("criteria", name, "count"), 0),
                ],
                ("criteria", name),
                f"{name} wants that there is no such row",
            )


def _gone(clean: Clean) -> Iterator[Change]:
    for item, name, criterion in _rows(clean):
        row = item.seed_row(criterion)
        if row is not None:
            body = {
                "kind": "row_absent",
                "text": f"{row.key} is gone.",
                "weight": criterion.weight,
                "service": row.service,
                "table": row.table,
                "row_id": row.row_id,
            }
            yield item.change(
                [("replace", pointer_of("criteria", name), body)],
                ("criteria", name),
                f"{name} wants that the row is gone",
            )


def _broad(clean: Clean) -> Iterator[Change]:
    for item, name, criterion in _new_rows(clean):
        known = item.parts.entity(criterion.service, criterion.table).fields
        links = [
            field
            for field, value in sorted(criterion.where.items())
            if known[field].link and value is not None
        ]
        kept = {field: criterion.where[field] for field in links[:1]}
        body = item.body(name)
        if len(kept) < len(criterion.where):
            where = {field: body["where"][field] for field in kept}
            yield item.change(
                [("replace", pointer_of("criteria", name, "where"), where)],
                ("criteria", name, "where"),
                f"{name} takes any new row" + (f" with that {links[0]}" if kept else ""),
            )


def _existence(clean: Clean) -> Iterator[Change]:
    found = list(_rows(clean))
    for item, name, criterion in sorted(found, key=lambda place: not _given(place[0], place[2])):
        if not criterion.facts:
            yield item.set(name, ("fields",), {}, "only looks whether the row is there")


def _one_less(clean: Clean) -> Iterator[Change]:
    found = list(_rows(clean))
    for item, name, criterion in sorted(found, key=lambda place: not _given(place[0], place[2])):
        if len(criterion.fields) > 1:
            field = clean.rng.choice(_given(item, criterion) or sorted(criterion.fields))
            at = ("criteria", name, "fields", field)
            yield item.change(
                [("remove", pointer_of(*at), None)], at, f"{name} does not look at {field}"
            )


def _given(item: Judged, criterion: RowFields) -> list[str]:
    """Return the fields for which gold gives the value itself: a slip shows there alone."""
    return [field for field in sorted(criterion.fields) if item.is_given(criterion, field)]


def _no_facts(clean: Clean) -> Iterator[Change]:
    for item in judged(clean):
        for name, criterion in item.row_criteria():
            if criterion.facts:
                at = ("criteria", name, "facts")
                yield item.change([("replace", pointer_of(*at), {})], at, f"{name} takes any text")


def _any_row(clean: Clean) -> Iterator[Change]:
    for _is_given, change in sorted(_any_rows(clean), key=lambda pair: not pair[0]):
        yield change


def _any_rows(clean: Clean) -> Iterator[tuple[bool, Change]]:
    """Yield the changes, each with whether gold gives that id itself."""
    for item in judged(clean):
        for name, criterion in item.row_criteria():
            known = item.parts.entity(criterion.service, criterion.table).fields
            part = "where" if criterion.new_only else "fields"
            values: Any = criterion.where if criterion.new_only else criterion.fields
            for field, value in sorted(values.items()):
                service, _, table = (known[field].link or "").partition(".")
                table = table.partition(".")[0]
                world = item.parts.task.world
                if not isinstance(value, str) or service not in (
                    *world.services,
                    *world.distractors,
                ):
                    continue
                rows = item.parts.system.environment.seeds[service].tables.get(table)
                if not rows or value not in rows:
                    continue
                label = f"any:{service}.{table}"
                binder = {
                    "kind": "row_fields",
                    "text": f"There are the rows of {table}.",
                    "service": service,
                    "table": table,
                    "where": {},
                    "count": len(rows),
                }
                at = ("criteria", name, part, field)
                yield (
                    item.is_given(criterion, field),
                    item.change(
                        [
                            ("add", pointer_of("criteria", label), binder),
                            ("replace", pointer_of(*at), {ROW_OF: label}),
                        ],
                        at,
                        f"{name} takes any {table} for {field}",
                    ),
                )


def _dangling(clean: Clean) -> Iterator[Change]:
    for item in judged(clean):
        for name, criterion in item.row_criteria():
            part = "where" if criterion.new_only else "fields"
            values: Any = criterion.where if criterion.new_only else criterion.fields
            for field in sorted(values)[:1]:
                yield item.set(
                    name,
                    (part, field),
                    {ROW_OF: "new:row:1"},
                    "names a criterion that is not there",
                )


KINDS = (
    kind("wrong_row", "A criterion looks at another row.", _wrong_row),
    kind("wrong_field", "A criterion looks for the value in another field.", _wrong_field),
    kind("unknown_field", "A criterion looks at a field that no row has.", _unknown_field),
    kind("wrong_table", "A criterion looks into another table.", _wrong_table),
    kind(
        "absent_service",
        "A criterion looks into a service that the world has not.",
        _absent_service,
    ),
    kind("only_new_rows", "A criterion of an old row counts only new ones.", _only_new),
    kind("old_rows_too", "A criterion of a new row counts the old ones too.", _old_too),
    kind("wrong_count", "A criterion wants one row more.", _count),
    kind("inverted", "A criterion wants that there is no such row.", _inverted),
    kind("wants_row_gone", "A criterion wants a row gone that is to be changed.", _gone),
    kind("where_too_broad", "A criterion takes almost any new row for the one wanted.", _broad),
    kind("existence_only", "A criterion only looks whether the row is there.", _existence),
    kind("field_not_looked_at", "A criterion leaves out one of the fields that count.", _one_less),
    kind("text_not_looked_at", "A criterion takes any text.", _no_facts),
    kind("any_row_fits", "A criterion takes any row's id for the right one.", _any_row),
    kind("dangling_reference", "A criterion refers to one that is not there.", _dangling),
)
