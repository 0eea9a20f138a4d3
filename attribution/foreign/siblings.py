"""Traces of one task held against each other: what speaks for the task, or against it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from attribution.foreign.edits import Edit
from attribution.foreign.facts import WEAK, Fact, fact, num_turns
from attribution.foreign.records import ForeignTrace, Outcome
from attribution.foreign.replay import Replay
from attribution.records import EvidenceKind, Party
from components.records.frozen import canonical_json

_FEWEST = 3
"""Traces that must all fail alike before that speaks against their task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How one trace ended, for its siblings."""

    trace_id: str
    outcome: Outcome
    alike: Hashable
    """Equal for failures that the same edits turn; None: a success, or no edits are known."""


def ended(replay: Replay, outcome: Outcome, edits: Sequence[Edit]) -> Ended:
    """Return how a trace ended.

    Args:
        replay: the trace, played.
        outcome: whether it failed.
        edits: what it needs.
    """
    parts = tuple(
        (
            edit.kind,
            edit.gold,
            edit.word,
            canonical_json(replay.done[edit.position].call) if edit.position >= 0 else b"",
        )
        for edit in edits
    )
    return Ended(trace_id=replay.trace.trace_id, outcome=outcome, alike=parts or None)


def by_task(found: Mapping[str, Ended], traces: Sequence[ForeignTrace]) -> dict[str, list[Ended]]:
    """Return how the traces of each task ended.

    Args:
        found: how each trace ended, by its id.
        traces: the traces.
    """
    groups: dict[str, list[Ended]] = defaultdict(list)
    for trace in traces:
        if trace.trace_id in found:
            groups[trace.task_id].append(found[trace.trace_id])
    return dict(groups)


def sibling_facts(trace: ForeignTrace, own: Ended, group: Sequence[Ended]) -> Iterator[Fact]:
    """Yield what the other traces of the same task say of it.

    Args:
        trace: a failure.
        own: how it ended.
        group: how all traces of its task ended, its own too.
    """
    passed = [item.trace_id for item in group if item.outcome is Outcome.PASSED]
    place = f"task/{trace.task_id}#/gold"
    if passed:
        made = fact(
            trace,
            Party.TASK,
            place,
            f"{len(passed)} of {len(group) - 1} other traces of this task pass ({passed[0]})",
            "siblings",
            turn=0,
            confidence=0.0,
            kind=EvidenceKind.PLAYED,
        )
        said = made.evidence.model_copy(update={"against": False})
        yield Fact(evidence=said, turn=0, confidence=0.0)
        return
    alike = [item for item in group if item.alike is not None and item.alike == own.alike]
    if len(group) >= _FEWEST and len(alike) == len(group):
        yield fact(
            trace,
            Party.TASK,
            place,
            f"all {len(group)} traces of this task fail alike, and none passes",
            "siblings",
            turn=num_turns(trace),
            confidence=WEAK,
            kind=EvidenceKind.PLAYED,
        )
