"""From a model's operations to a patch of one artifact, bound to what is there, or why not.

Owns what is refused before the gates are asked: other artifacts and paths that nobody may patch,
what does not apply, what takes something out of service instead of mending it, and templates that
could run away. It never says that a patch is good.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any

import jsonpointer

from attribution.change import Change, Operation, bind
from attribution.ownership import has_reference
from attribution.patchers.model.templates import check_template
from attribution.swap import body_of, is_changed, swap
from components.errors import BoundaryError, SynthesisError, boundary
from components.model.answers import Unusable
from components.records.patch import Patch
from components.records.system import System

_TEMPLATES = ("system_prompt", "user_prompt", "observation", "invalid_call_feedback")


def bound_patch(
    system: System,
    place: str,
    operations: Sequence[Operation],
    reason: str,
    known: Container[str] = (),
) -> Patch:
    """Return the patch, with `test`s and the hash of its base, that makes a model's operations.

    Args:
        system: the system as it is.
        place: `artifact#pointer` of the failure mode; the patch is one of this artifact.
        operations: as the model gives them; its own `test`s are looked at and not kept.
        reason: what the patch mends, in one sentence.
        known: ids of patches that were tried already.

    Raises:
        Unusable: it cannot be tried; the text says why.
    """
    artifact = place.partition("#")[0]
    for _op, path, _value in operations:
        if not has_reference(artifact, path):
            raise Unusable(f"no patch may touch {artifact}#{path}")
    steps = tuple(step for step in operations if step[0] != "test")
    if not steps:
        raise Unusable("it holds tests and no operation that changes anything")
    change = Change(artifact=artifact, operations=steps, reason=reason, place=place)
    try:
        with boundary(SynthesisError, "bind"):
            wrong = _failing_test(body_of(system, artifact), operations)
            patch = bind(system, change)
            after = swap(system, patch)
    except BoundaryError as error:
        raise Unusable(f"it does not apply: {error}") from error
    if wrong:
        raise Unusable(f"its own test fails: {wrong} is not what it says")
    if not is_changed(system, after, artifact):
        raise Unusable("it changes nothing")
    if patch.patch_id in known:
        raise Unusable("it was tried already, and rolled back")
    _check_removals(system, after, artifact)
    if artifact == "harness":
        for name in _TEMPLATES:
            if getattr(after.harness, name) != getattr(system.harness, name):
                check_template(name, getattr(after.harness, name))
    return patch


def _failing_test(body: Any, operations: Sequence[Operation]) -> str:
    missing = object()
    for op, path, value in operations:
        if op == "test" and jsonpointer.resolve_pointer(body, path, missing) != value:
            return path
    return ""


def _check_removals(system: System, after: System, artifact: str) -> None:
    """Taking things out of service is the rules' last resort, and no repair."""
    family, _, name = artifact.partition("/")
    gone = set(after.retired) - set(system.retired)
    if family == "blueprint":
        blueprints = after.environment.blueprints, system.environment.blueprints
        gone |= set(blueprints[0][name].quarantined) - set(blueprints[1][name].quarantined)
    if gone:
        raise Unusable(f"it takes {min(gone)} out of service instead of mending it")
