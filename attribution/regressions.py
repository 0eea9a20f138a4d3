"""The regression set: runs that accepted patches decided rightly, and that later ones must keep.

An entry is a replay, never a sample. Of a patch's examples one a task and expectation is pinned,
the one of the fewest texts, so that the set grows with patches and not with rollouts. Owns how an
entry is made and played; where entries are kept is the loop's business.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from attribution.interventions.runs import (
    Arm,
    arm_of,
    play_on,
    replay,
    texts_of,
    turns_before_difference,
)
from attribution.records import AcceptanceCheck, Regression
from components.artifacts import component_versions
from components.errors import SelvageError, SynthesisError, boundary
from components.records.frozen import content_hash
from components.records.system import System
from components.records.trajectory import Trajectory

_ID_DIGITS = 12


def come_out(arm: Arm, trajectory: Trajectory, passes: bool) -> tuple[tuple[str, ...], bool]:
    """Return the texts of a recorded rollout that count in an arm, and whether it comes out right.

    Args:
        arm: the system as the task meets it.
        trajectory: a rollout that was decided wrongly in another system.
        passes: True: it failed, and can still be won from where the arm first answers otherwise;
            False: it passed, and fails.
    """
    texts = texts_of(trajectory)
    again = replay(arm, texts, trajectory.seed)
    if not passes:
        return texts, again.passed is False
    point = turns_before_difference(trajectory, again.trajectory)
    return texts[:point], play_on(arm, texts[:point], trajectory.seed).passed is True


def pinned_later(
    system: System, patch_id: str, trajectory: Trajectory, passes: bool
) -> Regression | None:
    """Return the entry of an example in a system that more than its patch has mended; None where it
    still does not come out right.
    """
    try:
        with boundary(SynthesisError, f"replay {trajectory.rollout_id}"):
            texts, is_right = come_out(arm_of(system, trajectory.task_id), trajectory, passes)
    except SelvageError:
        return None
    return pin(system, patch_id, trajectory, texts, passes) if is_right else None


def pin(
    system: System, patch_id: str, trajectory: Trajectory, texts: Sequence[str], passes: bool
) -> Regression:
    """Return the entry of an example that came out right.

    Args:
        system: the patched system in which it did.
        patch_id: the patch.
        trajectory: the recorded rollout.
        texts: its first texts, up to where the patched system answers otherwise.
        passes: whether it is to pass from there, or to fail.
    """
    name = [patch_id, trajectory.rollout_id, trajectory.seed, passes]
    return Regression(
        entry_id="e_" + content_hash(name)[:_ID_DIGITS],
        patch_id=patch_id,
        task_id=trajectory.task_id,
        rollout_id=trajectory.rollout_id,
        seed=trajectory.seed,
        texts=tuple(texts),
        passes=passes,
        versions=component_versions(system),
    )


def one_a_task(entries: Iterable[Regression]) -> tuple[Regression, ...]:
    """Return the shortest entry of each task and expectation, in order of task."""
    chosen: dict[tuple[str, bool], Regression] = {}
    for entry in sorted(entries, key=lambda item: (len(item.texts), item.rollout_id)):
        chosen.setdefault((entry.task_id, entry.passes), entry)
    return tuple(chosen[key] for key in sorted(chosen))


def holds(system: System, entry: Regression) -> bool:
    """Return whether an entry comes out in a system as it is pinned."""
    try:
        with boundary(SynthesisError, f"replay {entry.entry_id}"):
            arm = arm_of(system, entry.task_id)
            again = play_on if entry.passes else replay
            return again(arm, entry.texts, entry.seed).passed is entry.passes
    except SelvageError:  # its world cannot be built any more
        return False


def regression_check(
    before: System, after: System, tasks: Sequence[str], entries: Sequence[Regression]
) -> AcceptanceCheck:
    """Count the entries of the tasks that hold; none that held may be lost.

    Args:
        before: the system as it is.
        after: the system with a patch.
        tasks: tasks that it can change anything for.
        entries: the live entries.
    """
    old = new = total = 0
    lost = ""
    for entry in entries:
        if entry.task_id not in tasks:
            continue
        was, now = holds(before, entry), holds(after, entry)
        total, old, new = total + 1, old + was, new + now
        if was and not now:
            lost = lost or f"{entry.entry_id} of {entry.task_id}, pinned by {entry.patch_id}"
    return AcceptanceCheck(before=old, after=new, total=total, holds=not lost, detail=lost)
