"""Whether the words of a task are somebody's: spans that cut no word, and nothing said beside them.

A span that is a letter off still gives gold its values, and words that no demand covers ask for
what gold does not do. Neither shows in a replay of gold.
"""

from __future__ import annotations

from collections.abc import Sequence

from attribution.records import AcceptanceCheck
from components.records.system import System
from components.records.task import Task

_MAX_JOINING = 6
"""Words that may join two demands (`Once that is done,`)."""


def span_check(before: System, after: System, tasks: Sequence[str]) -> AcceptanceCheck:
    """Count the spans of demands and referents, and the gaps between demands, that are sound.

    Args:
        before: the system as it is.
        after: the system with a patch.
        tasks: tasks that it can change anything for.
    """
    old = new = total = 0
    lost = ""
    for task_id in tasks:
        here, there = (_unsound(system.tasks[task_id]) for system in (before, after))
        count = max(_num_spans(system.tasks[task_id]) for system in (before, after))
        count = max(count, len(here), len(there))
        old, new, total = old + count - len(here), new + count - len(there), total + count
        lost = lost or min(there - here, default="")
    return AcceptanceCheck(before=old, after=new, total=total, holds=not lost, detail=lost)


def _num_spans(task: Task) -> int:
    return 2 * len(task.demands) + len(task.referents)


def _unsound(task: Task) -> set[str]:
    """Return what is wrong with the spans of a task, in words."""
    text = task.instruction
    spans = [
        *((name, span.start, span.end) for name, span in task.demands.items()),
        *((name, span.start, span.end) for name, span in task.referents.items()),
    ]
    found = {
        f"the span of {name} cuts a word, or holds a blank at its end"
        for name, start, end in spans
        if not _cuts_well(text, start, end)
    }
    covered = sorted((span.start, span.end) for span in task.demands.values())
    covered += [(clause.start, clause.end) for clause in task.clauses.values()]
    place = 0
    for start, end in sorted(covered):
        if len(text[place:start].split()) > _MAX_JOINING:
            found.add(f"no demand covers the words from {place} on")
        place = max(place, end)
    if text[place:].strip():
        found.add("no demand covers the words at the end")
    return found


def _cuts_well(text: str, start: int, end: int) -> bool:
    inside = text[start:end]
    if not inside or inside != inside.strip() or end > len(text):
        return False
    edges = (text[max(start - 1, 0) : start] + inside[0], inside[-1] + text[end : end + 1])
    return not any(len(pair) == 2 and pair.isalnum() for pair in edges)
