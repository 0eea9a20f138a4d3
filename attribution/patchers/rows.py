"""Rows as they were certified: read from recorded runs, or found by trying values until the hash is
right.

A certificate holds the hash of every row at the start, not the row. A row that a recorded answer or
change shows whole is checked against that hash; otherwise one field at a time takes the values that
its column knows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from attribution.evidence import split_place
from components.records.frozen import FrozenDict, content_hash, thaw
from components.records.system import System


def certified_hashes(
    system: System, service: str, table: str, row_id: str
) -> dict[str, str | None]:
    """Return task id -> certified hash of the row (None: it was not there), for worlds with the
    service.
    """
    key, found = f"{service}/{table}/{row_id}", {}
    for task_id, certificate in sorted(system.reference.certificates.items()):
        task = system.tasks.get(task_id)
        if task is not None and service in {*task.world.services, *task.world.distractors}:
            found[task_id] = certificate.seed_rows.get(key)
    return found


def certified_rows(
    system: System, service: str, table: str, row_id: str, task_id: str | None = None
) -> Iterator[dict[str, Any]]:
    """Yield the rows that a recorded run shows and a certificate's hash confirms."""
    wanted = certified_hashes(system, service, table, row_id)
    hashes = {wanted.get(task_id)} if task_id is not None else set(wanted.values())
    seen = set()
    for name, certificate in sorted(system.reference.certificates.items()):
        if task_id is not None and name != task_id:
            continue
        for call in certificate.gold_run.values():
            for row in _rows_in(call.envelope.get("data")):
                digest = content_hash(thaw(row))
                if digest in hashes and digest not in seen:
                    seen.add(digest)
                    yield thaw(row)
            for change in call.changes:
                if change.before is None or change.row_id != row_id:
                    continue
                digest = content_hash(thaw(change.before))
                if digest in hashes and digest not in seen:
                    seen.add(digest)
                    yield thaw(change.before)


def mended_rows(
    system: System, service: str, table: str, row_id: str, task_id: str | None = None
) -> Iterator[dict[str, Any]]:
    """Yield the present row with one field changed so that a certificate's hash confirms it."""
    wanted = certified_hashes(system, service, table, row_id)
    hashes = {wanted.get(task_id)} if task_id is not None else set(wanted.values())
    hashes.discard(None)
    starts = []
    rows: Mapping[str, Any] = system.environment.seeds[service].tables.get(table, FrozenDict())
    if row_id in rows:
        starts.append(thaw(rows[row_id]))
    if task_id is not None:
        override = system.tasks[task_id].world.overrides.get(f"{service}/{table}/{row_id}")
        if override is not None:
            starts.insert(0, thaw(override))
    entity = system.environment.blueprints[service].entities[table]
    for row in starts:
        if content_hash(row) in hashes:
            yield row
        for field in sorted(row):
            if field == entity.key or field not in entity.fields:
                continue
            for value in _values(system, service, table, field):
                candidate = {**row, field: value}
                if value != row[field] and content_hash(candidate) in hashes:
                    yield candidate


def _values(system: System, service: str, table: str, field: str) -> list[Any]:
    """Return what a field may hold: its column's values, its enum, the keys that it links to,
    and null.
    """
    blueprint = system.environment.blueprints[service]
    column = blueprint.entities[table].fields[field]
    values: list[Any] = [None, True, False, *(column.enum or ())]
    for seed_service, seed in sorted(system.environment.seeds.items()):
        for name, rows in sorted(seed.tables.items()):
            is_own = (seed_service, name) == (service, table)
            for row_id, row in sorted(rows.items()):
                if is_own:
                    values.append(row.get(field))
                elif column.link and column.link.startswith(f"{seed_service}.{name}"):
                    _service, _table, *rest = column.link.split(".")
                    values.append(row.get(rest[0]) if rest else row_id)
    values += [shown[field] for shown in _all_shown(system) if field in shown]
    unique: dict[str, Any] = {}
    for value in values:
        unique.setdefault(content_hash(thaw(value)), thaw(value))
    return list(unique.values())


def _all_shown(system: System) -> Iterator[Mapping[str, Any]]:
    for _name, certificate in sorted(system.reference.certificates.items()):
        for call in certificate.gold_run.values():
            yield from _rows_in(call.envelope.get("data"))
            for change in call.changes:
                if change.before is not None:
                    yield change.before


def _rows_in(value: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, Mapping):
        yield value
        for item in value.values():
            yield from _rows_in(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _rows_in(item)


def row_of_place(place: str) -> tuple[str, str, str] | None:
    """Return service, table and id of the row that a place names, if it names one."""
    artifact, parts = split_place(place)
    family, _, name = artifact.partition("/")
    if family == "seed" and len(parts) >= 3:
        return name, parts[1], parts[2]
    if family == "task" and parts[:2] == ("world", "overrides") and len(parts) >= 3:
        service, _, rest = parts[2].partition("/")
        table, _, row_id = rest.partition("/")
        return service, table, row_id
    return None
