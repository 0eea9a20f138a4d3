"""Faults of reactions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from attribution.change import Change, put
from attribution.evidence import pointer_of
from attribution.faults.environment_order import reactions
from attribution.faults.environment_places import fields_like, kind
from attribution.faults.kinds import Clean, When, change_of
from components.records.base import to_json
from components.records.blueprint import EntityBlueprint
from components.records.world import Reaction, ReactionWrite


def _change(clean: Clean, name: str, value: Any, path: tuple[str, ...], why: str) -> Change:
    body = {name: to_json(clean.system.environment.reactions[name])}
    operation = put(body, pointer_of(name, *path), value)
    return change_of("reactions", [operation], (name, *path), f"{name}: {why}")


def _all(clean: Clean) -> Iterator[tuple[str, Reaction]]:
    for name in reactions(clean):
        yield name, clean.system.environment.reactions[name]


def _updates(clean: Clean) -> Iterator[tuple[str, str, ReactionWrite]]:
    for name, reaction in _all(clean):
        for label, write in sorted(reaction.writes.items()):
            if write.action == "update":
                yield name, label, write


def _entity(clean: Clean, service: str, table: str) -> EntityBlueprint:
    return clean.system.environment.blueprints[service].entities[table]


def _silent_reaction(clean: Clean) -> Iterator[Change]:
    for name, _reaction in _all(clean):
        yield _change(clean, name, False, ("on", "when"), "it never starts")


def _reaction_on_every_change(clean: Clean) -> Iterator[Change]:
    for name, reaction in _all(clean):
        if reaction.on.when is not True:
            why = f"it starts at every {reaction.on.event}"
            yield _change(clean, name, True, ("on", "when"), why)


def _reaction_takes_wrong_field(clean: Clean) -> Iterator[Change]:
    for name, label, write in _updates(clean):
        for field, value in sorted(to_json(write)["fields"].items()):
            found = value.get("@field") if isinstance(value, Mapping) else None
            row = found[0].get("@row") if found and isinstance(found[0], Mapping) else None
            if not found or not row:
                continue
            service, _, table = row["table"].partition(".")
            entity = _entity(clean, service, table)
            others = fields_like(entity, found[1]) if found[1] in entity.fields else []
            if others:
                other = clean.rng.choice(others)
                path = ("writes", label, "fields", field)
                why = f"{field} is taken from {other} instead of {found[1]}"
                yield _change(clean, name, {"@field": [found[0], other]}, path, why)


def _reaction_hits_every_row(clean: Clean) -> Iterator[Change]:
    for name, label, write in _updates(clean):
        entity = _entity(clean, write.service, write.table)
        where = {"@not": {"@is_null": f"$item.{entity.key}"}}
        why = f"it writes to every row of {write.table}"
        yield _change(clean, name, where, ("writes", label, "where"), why)


def _reaction_forgets_field(clean: Clean) -> Iterator[Change]:
    for name, label, write in _updates(clean):
        for field in sorted(write.fields):
            path = ("writes", label, "fields", field)
            yield change_of(
                "reactions",
                [("remove", pointer_of(name, *path), None)],
                (name, *path),
                f"{name}: {field} is not written",
            )


def _reaction_of_other_event(clean: Clean) -> Iterator[Change]:
    for name, reaction in _all(clean):
        blueprint = clean.system.environment.blueprints[reaction.on.service]
        when = to_json(reaction)["on"]["when"]
        for field, known in sorted(blueprint.entities[reaction.on.table].fields.items()):
            values = [value for value in known.enum or () if f"'{value}'" in str(when)]
            others = [value for value in known.enum or () if value not in values]
            if values and others and f".{field}" in str(when):
                wrong = _renamed(when, values[0], clean.rng.choice(others))
                why = f"it starts at another {field} than {values[0]!r}"
                yield _change(clean, name, wrong, ("on", "when"), why)
                break


def _renamed(value: Any, old: str, new: str) -> Any:
    if isinstance(value, Mapping):
        return {key: _renamed(item, old, new) for key, item in value.items()}
    if isinstance(value, list):
        return [_renamed(item, old, new) for item in value]
    return new if value == old else value


KINDS = (
    kind("silent_reaction", "A reaction of the world never starts.", _silent_reaction),
    kind(
        "reaction_on_every_change",
        "A reaction starts at every change of its table, not only at those that it is for.",
        _reaction_on_every_change,
    ),
    kind(
        "reaction_takes_wrong_field",
        "A reaction takes its value from another field of the right row.",
        _reaction_takes_wrong_field,
    ),
    kind(
        "reaction_hits_every_row",
        "A reaction writes to every row of its table instead of those that it is for.",
        _reaction_hits_every_row,
    ),
    kind(
        "reaction_forgets_field",
        "A reaction leaves one of its fields unwritten.",
        _reaction_forgets_field,
        When.BEFORE,
    ),
    kind(
        "reaction_of_other_event",
        "A reaction starts when a row reaches another state than the one that it is for.",
        _reaction_of_other_event,
        When.BEFORE,
    ),
)
