"""What the kinds of fault of the harness have in common: runs to measure by, and templates."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from attribution.change import Change, put
from attribution.evidence import pointer_of
from attribution.faults.kinds import Clean, FaultKind, change_of
from attribution.interventions.runs import arm_of, oracle_run
from attribution.swap import body_of
from components.harness.paging import observation_body
from components.records.patch import Component
from components.records.trajectory import Trajectory


def kind(name: str, statement: str, places: Callable[[Clean], Iterator[Change]]) -> FaultKind:
    """Return a kind of the harness."""
    return FaultKind(name=name, component=Component.HARNESS, statement=statement, places=places)


def setting(clean: Clean, value: Any, path: tuple[str, ...], why: str) -> Change:
    """Return the change of one setting."""
    operation = put(body_of(clean.system, "harness"), pointer_of(*path), value)
    return change_of("harness", [operation], path, why)


def rewritten(
    clean: Clean, template: str, old: str, new: Iterable[str], why: str
) -> Iterator[Change]:
    """Yield changes of a template in which one tag, wherever it stands, becomes another.

    Args:
        clean: the clean system.
        template: name of the setting that holds the template.
        old: the tag, with single spaces: `{{ body }}`.
        new: what it becomes, one candidate each.
        why: what is wrong then.
    """
    source = getattr(clean.system.harness, template)
    parts = re.split(r"\s*".join(re.escape(part) for part in old.split(" ")), source)
    if len(parts) > 1:
        for text in new:
            yield setting(clean, text.join(parts), (template,), why)


def runs(clean: Clean) -> list[Trajectory]:
    """Return the run without slips of each certified task."""
    return [oracle_run(arm_of(clean.system, task.task_id)).trajectory for task in clean.tasks()]


def num_chars(run: Trajectory) -> int:
    """Return the characters of a run's whole conversation."""
    said = sum(len(turn.raw_text) + len(turn.feedback) for turn in run.turns)
    shown = sum(len(item.shown) for turn in run.turns for item in turn.observations)
    return len(run.system_text) + len(run.user_text) + said + shown


def answer_lengths(clean: Clean) -> list[int]:
    """Return the length of the longest answer of each certified run, the shortest first."""
    lengths: dict[str, int] = {}
    for task, _step, call in clean.calls():
        length = len(observation_body(call.envelope))
        lengths[task.task_id] = max(length, lengths.get(task.task_id, 0))
    return sorted(lengths.values())


def quantiles(values: list[int]) -> list[int]:
    """Return the values that a tenth, a quarter, a half and all but a tenth of a sorted list reach
    beyond, without repeats.
    """
    shares = (0.9, 0.75, 0.5, 0.1) if values else ()
    return list(dict.fromkeys(values[int((len(values) - 1) * share)] for share in shares))
