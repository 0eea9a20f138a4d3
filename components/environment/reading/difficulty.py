"""How hard a tool is to use rightly, from 1 (trivial arguments) to 5 (a language).

Owns a count of what a caller must know; nothing here depends on what the tool does inside.
"""

from __future__ import annotations

from collections.abc import Mapping

from components.environment.reading.features import ToolView
from components.environment.reading.records import Role

_PICKS = (Role.IDENTIFIER, Role.PARENT)


def difficulty_of(view: ToolView, roles: Mapping[str, Role]) -> int:
    """Return the difficulty of a tool's arguments."""
    needed = [param for param in view.params if param.is_required]
    kinds = {
        kind
        for param, kind in zip(view.params, view.kinds, strict=True)
        if param.is_required and roles.get(param.name) not in _PICKS
    }
    if "code" in kinds:
        return 5
    nested = [param for param in view.params if param.inner]
    if nested:
        return 5 if sum(len(param.inner) for param in nested) > 12 else 4
    opaque = [param for param in needed if param.type in ("object", "array")]
    if len(view.params) > 10 or (opaque and len(needed) > 3):
        return 4
    picks = [param for param in needed if roles.get(param.name) in _PICKS]
    ids = [param for param in picks if param.words[-1:] in (("id",), ("ids",), ("uuid",))]
    if ids or len(picks) > 1 or len(needed) > 3 or len(view.params) > 5 or opaque:
        return 3
    if any(param.enum for param in needed) and len(needed) > 1:
        return 3
    if len(view.params) > 1:
        return 2
    return 1 if not needed or view.params[0].type in ("string", "boolean", "") else 2
