"""A change that is not yet bound to a system: the operations of a patch, before its `test`s and
its base hash.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import jsonpointer

from attribution.swap import is_changed, make_patch, swap
from components.errors import SynthesisError
from components.records.patch import Patch
from components.records.system import System

Operation = tuple[str, str, Any]
"""`add`, `replace` or `remove`; JSON Pointer; value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One candidate repair of one artifact."""

    artifact: str
    operations: tuple[Operation, ...]
    reason: str
    place: str


def bind(system: System, change: Change) -> Patch:
    """Return the patch that makes this change to the artifact as it is now.

    Raises:
        SynthesisError: the artifact is not there.
    """
    return make_patch(system, change.artifact, change.operations, change.reason, change.place)


def changed(system: System, change: Change) -> System:
    """Return the system with the change made.

    Raises:
        SynthesisError: it does not apply.
    """
    return swap(system, bind(system, change))


def applicable(system: System, changes: Iterable[Change]) -> Iterator[tuple[Change, System]]:
    """Yield the changes that apply and do something, each with its system, without repeats."""
    seen = set()
    for change in changes:
        try:
            patch = bind(system, change)
            after = swap(system, patch)
        except SynthesisError:
            continue
        if patch.patch_id in seen or not is_changed(system, after, change.artifact):
            continue
        seen.add(patch.patch_id)
        yield change, after


def put(body: Any, pointer: str, value: Any) -> Operation:
    """Return the operation that sets `pointer` to `value`: `replace` where something is, `add`
    otherwise.
    """
    missing = object()
    is_there = jsonpointer.resolve_pointer(body, pointer, missing) is not missing
    return ("replace" if is_there else "add", pointer, value)
