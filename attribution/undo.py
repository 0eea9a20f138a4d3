"""How an accepted patch is taken back: by another patch, appended after it, that undoes it.

Owns how that patch is made. It undoes one patch alone: what others changed since stays, and where
one of them changed the same place, nothing is undone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jsonpatch
import jsonpointer

from attribution.accept import affected_tasks, renewed_certificates
from attribution.swap import body_of, make_patch, swap
from components.errors import SynthesisError
from components.records.base import to_json
from components.records.frozen import FrozenDict, thaw
from components.records.patch import Patch
from components.records.system import System

_NOTHING = object()


def undoing(system: System, patch: Patch, old: Any, reason: str) -> Patch:
    """Return the patch that takes another one back.

    Args:
        system: the system as it is, with the other patch and whatever came later.
        patch: the one to take back.
        old: the artifact as it was before it, as plain JSON.
        reason: why, in one sentence.

    Raises:
        SynthesisError: a later patch changed the same place.
    """
    body, steps = thaw(old), []
    for step in patch.operations:
        if step.op != "test":
            steps.append(_inverse(body, step.op, step.path))
            change = to_json(step)
            if step.op == "remove":
                change.pop("value", None)
            body = jsonpatch.apply_patch(body, [change])
    now = body_of(system, patch.artifact)
    for _op, path, _value in steps:
        if _at(now, path) != _at(body, path):
            raise SynthesisError(f"a later patch changed {patch.artifact}#{path}")
    return make_patch(system, patch.artifact, list(reversed(steps)), reason, patch.place)


def undone(system: System, undo: Patch) -> System:
    """Return the system with a patch taken back, and with the certificates that this lapses made
    anew where the certified run comes out as it was.

    Raises:
        SynthesisError: it does not apply.
    """
    after = swap(system, undo)
    tasks: Sequence[str] = affected_tasks(after, undo)
    _check, renewed = renewed_certificates(system, after, undo, tasks)
    certificates = FrozenDict({**after.reference.certificates, **renewed})
    reference = after.reference.model_copy(update={"certificates": certificates})
    return after.model_copy(update={"reference": reference})


def _inverse(body: Any, op: str, path: str) -> tuple[str, str, Any]:
    """Return what undoes an operation on a body, as (operation, JSON Pointer, value)."""
    old = _at(body, path)
    if not path or op == "replace":
        return "replace", path, old
    if op == "remove":
        return "add", path, old
    holder = jsonpointer.resolve_pointer(body, path.rpartition("/")[0])
    is_new = isinstance(holder, list) or old is _NOTHING
    return ("remove", path, None) if is_new else ("replace", path, old)


def _at(body: Any, path: str) -> Any:
    return jsonpointer.resolve_pointer(body, path, _NOTHING)
