"""A patch of the harness as a plain unified diff, for whoever keeps an agent of their own.

The harness is seen as a folder: a template a file (`harness/system_prompt.j2`), and everything else
in `harness/settings.json`. The diff is what `patch -p1` takes.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping
from typing import Any

from attribution.swap import body_of, swap
from components.errors import SynthesisError
from components.records.frozen import content_hash
from components.records.patch import Patch
from components.records.system import System
from loop.decided import Decided, Fate

TEMPLATES = ("system_prompt", "user_prompt", "observation", "invalid_call_feedback")
"""Fields of the harness that are Jinja2 templates."""
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_NO_NEWLINE = "\\ No newline at end of file\n"


def harness_files(harness: Mapping[str, Any]) -> dict[str, str]:
    """Return the harness as files: path -> text."""
    rest = {key: value for key, value in harness.items() if key not in TEMPLATES}
    settings = json.dumps(rest, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    return {
        **{f"harness/{name}.j2": str(harness[name]) for name in TEMPLATES},
        "harness/settings.json": settings,
    }


def harness_diff(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """Return the unified diff of two harnesses; empty where they are equal."""
    old, new = harness_files(before), harness_files(after)
    return "".join(_difference(path, old[path], new[path]) for path in old)


def patch_diff(system: System, decided: tuple[Decided, ...], patch: Patch) -> str:
    """Return a harness patch as a unified diff; empty where its base is not to be had.

    Args:
        system: the system that the round began to patch.
        decided: the round's decisions in order: what was kept or held before it is its base.
        patch: a patch of the harness.
    """
    try:
        for item in decided:
            if content_hash(body_of(system, patch.artifact)) == patch.base_hash:
                break
            if item.fate is not Fate.ROLLED_BACK and item.patch.artifact == patch.artifact:
                system = swap(system, item.patch)
        return harness_diff(
            body_of(system, patch.artifact), body_of(swap(system, patch), patch.artifact)
        )
    except SynthesisError:
        return ""


def _difference(path: str, old: str, new: str) -> str:
    lines = difflib.unified_diff(_LINE.findall(old), _LINE.findall(new), f"a/{path}", f"b/{path}")
    return "".join(line if line.endswith("\n") else f"{line}\n{_NO_NEWLINE}" for line in lines)
