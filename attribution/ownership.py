"""Which paths of an artifact a patch may touch: those that have a reference.

`docs/ownership.md` says what each reference is; a test holds it against this table. A path that is
not here is nobody's to patch, and neither is a whole artifact at once.
"""

from __future__ import annotations

import re
from functools import lru_cache

from components.records.patch import Patch

REFERENCED: tuple[tuple[str, str], ...] = (
    ("blueprint/*", "/entities/**"),
    ("blueprint/*", "/quarantined/**"),
    ("blueprint/*", "/tools/*/lookups/**"),
    ("blueprint/*", "/tools/*/checks/**"),
    ("blueprint/*", "/tools/*/effects/**"),
    ("blueprint/*", "/tools/*/query/**"),
    ("blueprint/*", "/tools/*/result/**"),
    ("seed/*", "/tables/**"),
    ("reactions", "/**"),
    ("task/*", "/instruction"),
    ("task/*", "/demands/**"),
    ("task/*", "/referents/**"),
    ("task/*", "/world/services/**"),
    ("task/*", "/world/distractors/**"),
    ("task/*", "/world/now"),
    ("task/*", "/world/overrides/**"),
    ("task/*", "/gold/**"),
    ("task/*", "/answer/**"),
    ("task/*", "/answer_schema/**"),
    ("task/*", "/clauses/**"),
    ("task/*", "/user/**"),
    ("task/*", "/policy_rules/**"),
    ("retired", "/**"),
    ("harness", "/system_prompt"),
    ("harness", "/user_prompt"),
    ("harness", "/observation"),
    ("harness", "/invalid_call_feedback"),
    ("harness", "/tool_style"),
    ("harness", "/tool_exposure"),
    ("harness", "/hidden_tools/**"),
    ("harness", "/parsers/**"),
    ("harness", "/limits/max_turns"),
    ("harness", "/limits/max_user_turns"),
    ("harness", "/limits/max_calls_per_turn"),
    ("harness", "/limits/max_invalid_turns"),
    ("harness", "/limits/max_turn_tokens"),
    ("harness", "/limits/max_context_chars"),
    ("harness", "/limits/max_observation_chars"),
    ("rubric/*", "/criteria/**"),
    ("settings", "/equivalence/number_tolerance"),
    ("settings", "/equivalence/ignore_case"),
    ("settings", "/equivalence/trim_space"),
    ("settings", "/pass_threshold"),
)
"""Artifact and path; `*` stands for one key, `**` for everything below."""


def unreferenced_paths(patch: Patch) -> tuple[str, ...]:
    """Return the paths that a patch changes and that no reference covers."""
    changed = {step.path for step in patch.operations if step.op != "test"}
    return tuple(sorted(path for path in changed if not has_reference(patch.artifact, path)))


def referenced_paths(artifact: str) -> tuple[str, ...]:
    """Return the paths of an artifact that a patch may touch, as patterns."""
    return tuple(where for kind, where in REFERENCED if _is_named(kind, artifact))


def has_reference(artifact: str, path: str) -> bool:
    """Return whether a reference covers a path, so that a patch may touch it."""
    return any(
        _is_named(kind, artifact) and _pattern(where).fullmatch(path) for kind, where in REFERENCED
    )


def _is_named(kind: str, artifact: str) -> bool:
    return re.fullmatch(kind.replace("*", "[^/]+"), artifact) is not None


@lru_cache(maxsize=128)
def _pattern(where: str) -> re.Pattern[str]:
    start, deep, _ = where.partition("/**")
    whole = re.escape(start).replace(r"\*", "[^/]+")
    if not deep:
        return re.compile(whole)
    return re.compile(f"{whole}(/.*)?" if whole else "/.+", re.DOTALL)
