"""Faults of seed rows."""

from __future__ import annotations

from collections.abc import Iterator

from attribution.change import Change
from attribution.evidence import pointer_of
from attribution.faults.environment_order import rows
from attribution.faults.environment_places import RowPlace, is_plain_text, kind
from attribution.faults.kinds import Clean, When
from components.records.frozen import thaw


def _row_missing(clean: Clean) -> Iterator[Change]:
    for place in rows(clean):
        yield place.change([("remove", place.at(), None)], "the row is missing")


def _row_in_other_state(clean: Clean) -> Iterator[Change]:
    for place in rows(clean):
        for name, field in sorted(place.entity.fields.items()):
            others = [value for value in field.enum or () if value != place.row[name]]
            if others and isinstance(place.row[name], str):
                wrong = clean.rng.choice(others)
                why = f"{name} is {wrong!r} instead of {place.row[name]!r}"
                yield place.change([("replace", place.at(name), wrong)], why, name)


def _links(clean: Clean) -> Iterator[tuple[RowPlace, str, str]]:
    """Yield rows with a field that holds the key of another row, and what it holds."""
    for place in rows(clean):
        for name, field in sorted(place.entity.fields.items()):
            value = place.row[name]
            is_link = field.link is not None and field.link.count(".") == 1
            if is_link and isinstance(value, str) and name != place.entity.key:
                yield place, name, value


def _dangling_link(clean: Clean) -> Iterator[Change]:
    for place, name, value in _links(clean):
        gone = f"{value}_gone"
        why = f"{name} names a row that does not exist"
        yield place.change([("replace", place.at(name), gone)], why, name)


def _link_to_other_row(clean: Clean) -> Iterator[Change]:
    seeds = clean.system.environment.seeds
    for place, name, value in _links(clean):
        siblings = seeds[place.service].tables[place.table].values()
        others = sorted({str(row[name]) for row in siblings if row[name] not in (value, None)})
        if others:
            wrong = clean.rng.choice(others)
            why = f"{name} names another row than it should"
            yield place.change([("replace", place.at(name), wrong)], why, name)


def _duplicate_row(clean: Clean) -> Iterator[Change]:
    for place in rows(clean):
        if place.entity.generated_key:
            first = f"{place.entity.prefix}_0000{place.row_id[-2:]}"
            copy = {**thaw(place.row), place.entity.key: first}
            operation = ("add", pointer_of("tables", place.table, first), copy)
            twin = RowPlace(
                service=place.service,
                table=place.table,
                row_id=first,
                row=copy,
                entity=place.entity,
            )
            yield twin.change([operation], f"{place.row_id} is there a second time")


def _values_exchanged(clean: Clean) -> Iterator[Change]:
    seeds = clean.system.environment.seeds
    for place in rows(clean):
        siblings = seeds[place.service].tables[place.table]
        for name, field in sorted(place.entity.fields.items()):
            if not is_plain_text(field) or field.free_text or name == place.entity.key:
                continue
            others = [
                row_id
                for row_id, row in sorted(siblings.items())
                if row[name] not in (place.row[name], None)
            ]
            if others and place.row[name] is not None:
                other = clean.rng.choice(others)
                operations = [
                    ("replace", place.at(name), siblings[other][name]),
                    (
                        "replace",
                        pointer_of("tables", place.table, other, name),
                        place.row[name],
                    ),
                ]
                why = f"{name} is exchanged with that of {other}"
                yield place.change(operations, why, name)


def _stray_space(clean: Clean) -> Iterator[Change]:
    for place in rows(clean):
        for name in _titles(place):
            wrong = f"{place.row[name]} "
            why = f"{name} ends in a space"
            yield place.change([("replace", place.at(name), wrong)], why, name)


def _titles(place: RowPlace) -> list[str]:
    """Return the fields that a caller would look the row up by."""
    names = [place.entity.title_field, "number", "code", "name"]
    found = dict.fromkeys(name for name in names if name in place.entity.fields)
    return [
        name
        for name in found
        if name is not None and name != place.entity.key and isinstance(place.row[name], str)
    ]


KINDS = (
    kind("row_missing", "A row that should be there at the start is not.", _row_missing),
    kind(
        "row_in_other_state",
        "A row starts in another state than it should.",
        _row_in_other_state,
    ),
    kind(
        "link_to_other_row",
        "A row starts with a link to another row than it should.",
        _link_to_other_row,
    ),
    kind(
        "values_exchanged",
        "Two rows start with each other's value of one field.",
        _values_exchanged,
    ),
    kind("stray_space", "A text by which a row is found ends in a space.", _stray_space),
    kind(
        "dangling_link",
        "A row starts with a link to a row that does not exist.",
        _dangling_link,
        When.BEFORE,
    ),
    kind(
        "duplicate_row",
        "A row is there a second time under another id, which comes first.",
        _duplicate_row,
        When.BEFORE,
    ),
)
