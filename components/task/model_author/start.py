"""What a design changes at the start of a world: a JSON Patch of the state, as a task's overrides.

A patch is kept only where it applies, every row fits its entity, and no invariant of the world
contract is broken that was not broken before.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import jsonpatch
import jsonpointer

from components.environment.invariants import broken_invariants
from components.environment.state import rows_of
from components.environment.world import World, build_world
from components.errors import SynthesisError
from components.records.frozen import FrozenDict, JsonObject, freeze, thaw
from components.records.system import System
from components.records.world import WorldSpec
from components.task.reasons import Reason, Rejection

_MAX_OPERATIONS = 20
_OPS = frozenset({"test", "add", "replace", "remove"})
_PATH = re.compile(r"/(?P<service>[^/]+)/(?P<table>[^/]+)/(?P<row>[^/]+)(/.*)?", re.DOTALL)


def changed_world(
    system: System, spec: WorldSpec, world: World, operations: Sequence[Any]
) -> tuple[WorldSpec, World] | Rejection:
    """Return the world with a design's changes at its start, and how it is built.

    Args:
        system: gives services and the world contract.
        spec: the world as it is; without overrides.
        world: built of it.
        operations: JSON Patch (RFC 6902) of `{service: {table: {id: row}}}`; empty: no change.
    """
    if not operations:
        return spec, world
    if len(operations) > _MAX_OPERATIONS:
        return _no(f"{len(operations)} operations; {_MAX_OPERATIONS} are the most")
    touched = []
    for number, step in enumerate(operations, 1):
        found = _PATH.fullmatch(str(step.get("path"))) if isinstance(step, dict) else None
        if found is None or step.get("op") not in _OPS:
            return _no(
                f"operation {number} must have an op (test, add, replace, remove) and a path "
                "/service/table/id or below"
            )
        service, table = found["service"], found["table"]
        if service not in spec.services or table not in world.services[service].models:
            return _no(f"operation {number}: this world has no table {service}/{table}")
        touched.append((service, table))
    document = _document(world, touched)
    try:
        changed = jsonpatch.apply_patch(document, [thaw(step) for step in operations])
    except (jsonpatch.JsonPatchException, jsonpointer.JsonPointerException, ValueError) as error:
        return _no(f"the patch does not apply: {error}")
    except (TypeError, KeyError) as error:
        return _no(f"the patch does not apply ({type(error).__name__})")
    overrides: dict[str, JsonObject | None] = {}
    for service, table in sorted(set(touched)):
        before, after = document[service][table], changed.get(service, {}).get(table)
        for row_id in sorted({*before, *(after or {})}):
            row = (after or {}).get(row_id)
            if row != before.get(row_id):
                if row is not None and not isinstance(row, dict):
                    return _no(f"{service}/{table}/{row_id} is no row")
                overrides[f"{service}/{table}/{row_id}"] = freeze(row)
    if not overrides:
        return _no("the patch changes nothing; leave it out")
    made = spec.model_copy(update={"overrides": FrozenDict(overrides)})
    try:
        other = build_world(system, made)
    except SynthesisError as error:
        return _no(str(error))
    contract = system.reference.contract
    known = {(name, row_id) for name, _item, row_id in broken_invariants(world, contract)}
    for name, item, row_id in broken_invariants(other, contract):
        if (name, row_id) not in known:
            return _no(f"{item.service}/{item.table}/{row_id} breaks a promise: {item.text}")
    return made, other


def _document(world: World, touched: Sequence[tuple[str, str]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for service, table in touched:
        rows = rows_of(world.initial, service, table)
        found.setdefault(service, {})[table] = {key: thaw(row) for key, row in rows.items()}
    return found


def _no(detail: str) -> Rejection:
    return Rejection(reason=Reason.STATE, detail=detail)
