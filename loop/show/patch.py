"""A patch: what it changes and why, what its replays came to, and what became of it."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from typing import Any

from attribution.records import FailureMode
from components.records.frozen import thaw
from components.records.patch import Component, PatchOperation
from loop.decided import Decided, Fate, is_removal
from loop.guard_records import STAGE, GuardRound, guard_of
from loop.plain_page import Page
from loop.report.changes import value_text
from loop.report.guard_view import guard_line, rollback_line
from loop.report.sections import CHECKS
from loop.reviews import review_of
from loop.show.harness_diff import patch_diff
from loop.show.seen import Seen


def show_patch(seen: Seen, name: str) -> Page:
    """Return the page of one patch, with every time that it was tried in the round."""
    tried = [item for item in seen.decisions if item.patch.patch_id == name]
    patch = tried[0].patch
    page = Page()
    page.heading(f"Patch {name} ({seen.where})")
    page.table(
        [
            ("component", patch.component.value),
            ("artifact", patch.artifact),
            ("place", patch.place),
            ("why", patch.reason),
            ("base", patch.base_hash[:12]),
        ]
    )
    if is_removal(patch):
        page.line("it takes a tool or a task out of service, and mends nothing")
    page.heading("Changes")
    old = {step.path: step.value for step in patch.operations if step.op == "test"}
    for step in patch.operations:
        if step.op != "test":
            _show_step(page, old.get(step.path), step)
    if patch.component is Component.HARNESS:
        diff = patch_diff(seen.before, seen.decisions, patch)
        if diff:
            page.heading("The same as a unified diff, a template a file (patch -p1)")
            page.raw(diff)
    for count, item in enumerate(tried, start=1):
        _show_try(page, seen, item, f", try {count}" if len(tried) > 1 else "")
    return page


def _show_step(page: Page, old: Any, step: PatchOperation) -> None:
    what = f"{step.op} {step.path or 'the whole artifact'}"
    if step.op == "replace" and not isinstance(step.value, (Mapping, tuple, str)):
        page.line(f"{what}: {value_text(old)} -> {value_text(step.value)}")
        return
    page.line(what)
    for line in difference(old, step):
        page.verbatim(line)


def difference(old: Any, step: PatchOperation) -> list[str]:
    """Return the lines that an operation takes away (`-`) and adds (`+`), with two around them.

    Args:
        old: what was there, as a `test` operation says; None where nothing was.
        step: the operation.
    """
    before = [] if old is None else _lines(old)
    after = [] if step.op == "remove" else _lines(step.value)
    changed = list(difflib.unified_diff(before, after, n=2, lineterm=""))[3:]
    return ["..." if line.startswith("@@") else line for line in changed]


def _lines(value: Any) -> list[str]:
    return json.dumps(thaw(value), indent=2, sort_keys=True, ensure_ascii=False).splitlines()


def _show_try(page: Page, seen: Seen, item: Decided, number: str) -> None:
    acceptance = item.acceptance
    page.heading(f"{item.fate.value.capitalize()}{number}")
    page.line(acceptance.reason)
    if item.fate is Fate.HELD:
        page.line(_where_it_stands(seen, item.patch.patch_id))
    result = seen.folder.stage_result("attribute")
    for mode in [] if result is None else map(FailureMode.model_validate, result["modes"]):
        if mode.mode_id == item.mode_id:
            page.line(f"made for: {mode.statement}")
            page.line(
                f"{mode.party.value} {mode.place}; {len(mode.rollouts)} rollouts, lost reward "
                f"{mode.lost_reward:.2f}" + (f", such as {mode.example}" if mode.example else ""),
                4,
            )
    rows = [("replays", "before", "after", "of", "what is counted")]
    for name, check in sorted(acceptance.checks.items()):
        words = CHECKS.get(name, name)
        stop = "" if check.holds else " - STANDS IN THE WAY"
        detail = f" [{check.detail}]" if check.detail else ""
        rows.append(
            (
                name,
                str(check.before),
                str(check.after),
                str(check.total),
                f"{words}{stop}{detail}",
            )
        )
    page.table(rows)
    if acceptance.accepted:
        _show_guard(page, seen, item.patch.patch_id)
    if acceptance.regressions:
        names = ", ".join(entry.entry_id for entry in acceptance.regressions)
        page.line(f"pinned to the regression set: {names}")
    if acceptance.certificates:
        page.line(f"certified anew: {', '.join(sorted(acceptance.certificates))}")
    moved = sorted(
        kind
        for kind, version in acceptance.versions_after.items()
        if version != acceptance.versions_before.get(kind)
    )
    for kind in moved:
        old, new = acceptance.versions_before.get(kind, ""), acceptance.versions_after[kind]
        page.line(f"{kind}: {old[:12]} -> {new[:12]}")


def _show_guard(page: Page, seen: Seen, patch_id: str) -> None:
    """Say what pairs of outcomes say of a patch, and whether it was taken back."""
    result, later = seen.folder.stage_result(STAGE), seen.number + 1
    record = None if result is None else GuardRound.model_validate(result["record"])
    looks = [] if record is None else [(record.guards, record, "")]
    if (seen.folder.earlier_path(later) / "manifest.json").exists():
        after = guard_of(seen.folder, later)
        looks += [] if after is None else [(after.earlier, after, f" in round {later}")]
    for guards, found, where in looks:
        for item in guards:
            if item.patch_id == patch_id:
                page.line(f"guard{where}: {guard_line(item)}")
        for rollback in found.rollbacks:
            if rollback.patch_id == patch_id:
                page.line(f"guard{where}: {rollback_line(rollback)}")


def _where_it_stands(seen: Seen, patch_id: str) -> str:
    """Return what a person has decided about a held patch, or how to."""
    review = review_of(seen.folder.path.parent, patch_id)
    if review is None:
        return f"it waits: python -m loop accept run={seen.run} patch={patch_id}, or reject"
    said = f": {review.reason}" if review.reason else ""
    return f"{review.judgement.value} after round {review.round} (review {review.number}){said}"
