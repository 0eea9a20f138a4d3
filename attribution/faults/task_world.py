"""Kinds of fault of the task: its world does not start as the instruction takes for granted."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from attribution.change import Change
from attribution.evidence import pointer_of
from attribution.faults.kinds import Clean, FaultKind
from attribution.faults.task_parts import Parts, Row, parts_of
from components.records.base import to_json
from components.records.calls import RowChange
from components.records.frozen import thaw
from components.records.patch import Component

_FORMAT = "%Y-%m-%dT%H:%M:%SZ"


def _named(clean: Clean) -> Iterator[tuple[Parts, Row, str]]:
    """Yield the rows that instructions name, each with the field that holds the name."""
    for parts in parts_of(clean):
        for item in parts.given():
            for row, field in parts.named(parts.task.gold[item.step].service, item.text):
                yield parts, row, field


def _override(parts: Parts, row: Row, values: dict[str, Any] | None, reason: str) -> Change:
    at = ("world", "overrides", row.key)
    return parts.change([("add", pointer_of(*at), values)], at, reason)


def _renamed(clean: Clean) -> Iterator[Change]:
    for parts, row, field in _named(clean):
        values = {**row.values, field: f"{row.values[field]} (closed)"}
        yield _override(parts, row, values, f"{row.key} has another {field} at the start")


def _removed(clean: Clean) -> Iterator[Change]:
    for parts, row, _field in _named(clean):
        yield _override(parts, row, None, f"{row.key} is not there at the start")


def _namesake(clean: Clean) -> Iterator[Change]:
    for parts, row, field in _named(clean):
        for other in parts.alike(row)[:3]:
            values = {**other.values, field: row.values[field]}
            yield _override(parts, other, values, f"{other.key} has the {field} of {row.key}")


def _written(clean: Clean) -> Iterator[tuple[Parts, RowChange]]:
    """Yield what gold's tools themselves change in rows of the seed."""
    for parts in parts_of(clean):
        for step in parts.writes():
            for change in parts.calls[step].changes:
                is_own = change.cause.startswith("effect:")
                if is_own and change.before is not None and change.after is not None:
                    yield parts, change


def _row(change: RowChange) -> Row:
    return Row(
        service=change.service,
        table=change.table,
        row_id=change.row_id,
        values=thaw(change.before or {}),
    )


def _goal_true(clean: Clean) -> Iterator[Change]:
    for parts, change in _written(clean):
        row = _row(change)
        yield _override(
            parts, row, thaw(change.after or {}), f"{row.key} is at the start what it should become"
        )


def _closed(clean: Clean) -> Iterator[Change]:
    for parts, change in _written(clean):
        row, after = _row(change), thaw(change.after) if change.after else {}
        for field, known in sorted(parts.entity(row.service, row.table).fields.items()):
            for choice in reversed(known.enum or ()):
                if choice not in (row.values[field], after[field]):
                    yield _override(
                        parts,
                        row,
                        {**row.values, field: choice},
                        f"{row.key} starts with {field} {choice}",
                    )


def _other_link(clean: Clean) -> Iterator[Change]:
    for parts in parts_of(clean):
        for item in parts.used():
            meant, field = parts.row_of(item.value), str(item.source.path[-1])
            if meant is None or field == "id" or not parts.alike(meant):
                continue
            for row in parts.rows(parts.task.gold[item.source.step].service):
                if row.row_id != item.value and row.values.get(field) == item.value:
                    found = str(item.data)
                    if row.row_id in found:
                        other = clean.rng.choice(parts.alike(meant)).row_id
                        yield _override(
                            parts,
                            row,
                            {**row.values, field: other},
                            f"{field} of {row.key} points to another row at the start",
                        )


def _without_service(clean: Clean) -> Iterator[Change]:
    for parts in parts_of(clean):
        for service in reversed(parts.task.world.services):
            rest = [name for name in parts.task.world.services if name != service]
            yield parts.change(
                [("replace", "/world/services", rest)],
                ("world", "services"),
                f"the world lacks {service}",
            )


def _without_bystander(clean: Clean) -> Iterator[Change]:
    tasks = sorted(parts_of(clean), key=lambda parts: not _watched(parts))
    for parts in tasks:
        yield parts.change(
            [("replace", "/world/distractors", [])],
            ("world", "distractors"),
            "a service that reacts is not in the world",
        )


def _watched(parts: Parts) -> bool:
    """Return whether gold changes something in a service that it never calls."""
    return any(
        change.service in parts.task.world.distractors
        for call in parts.calls.values()
        for change in call.changes
    )


def _more_reactions(clean: Clean) -> Iterator[Change]:
    for parts in parts_of(clean):
        world = parts.task.world
        there = {*world.services, *world.distractors}
        touched = {
            (change.service, change.table)
            for call in parts.calls.values()
            for change in call.changes
        }
        for _name, reaction in sorted(parts.system.environment.reactions.items()):
            others = {write.service for write in reaction.writes.values()} - there
            if (reaction.on.service, reaction.on.table) in touched and len(others) == 1:
                yield parts.change(
                    [("replace", "/world/distractors", sorted({*world.distractors, *others}))],
                    ("world", "distractors"),
                    f"{min(others)} is in the world too, and reacts",
                )


def _clock(clean: Clean) -> Iterator[Change]:
    for parts in sorted(parts_of(clean), key=lambda parts: not _looks_at_clock(parts)):
        moment = datetime.strptime(parts.task.world.now, _FORMAT)
        for days in (400, -400):
            now = (moment + timedelta(days=days)).strftime(_FORMAT)
            yield parts.change(
                [("replace", "/world/now", now)],
                ("world", "now"),
                f"the clock stands {days} days off",
            )


def _looks_at_clock(parts: Parts) -> bool:
    """Return whether a tool that gold calls decides by the time."""
    return any(
        "$now" in str(to_json(check))
        for step in parts.task.gold.values()
        for check in parts.system.environment.blueprints[step.service]
        .tools[step.tool]
        .checks.values()
    )


def _kind(name: str, statement: str, places: Any) -> FaultKind:
    return FaultKind(name=name, component=Component.TASK, statement=statement, places=places)


KINDS: tuple[FaultKind, ...] = (
    _kind("renamed_row", "A row that the instruction names has another name.", _renamed),
    _kind("removed_row", "A row that the instruction names is not there.", _removed),
    _kind("namesake_row", "Another row has the name that the instruction gives.", _namesake),
    _kind("goal_true_at_start", "A row is from the start what it should become.", _goal_true),
    _kind("closed_row", "A row starts in a state in which the goal is out of reach.", _closed),
    _kind("other_link", "A row points to another row from the start.", _other_link),
    _kind("service_missing", "The world lacks a service that the task needs.", _without_service),
    _kind(
        "bystander_missing",
        "The world lacks a service that is never called, and that should react.",
        _without_bystander,
    ),
    _kind(
        "bystander_added",
        "The world has a service more, which reacts to what is done.",
        _more_reactions,
    ),
    _kind("clock_moved", "The world's clock stands at another day.", _clock),
)
