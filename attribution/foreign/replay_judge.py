"""Traces judged with their tasks at hand: played again, edited, and held against each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from attribution.foreign.edits import Edit, needed_edits
from attribution.foreign.facts import STRONG, WEAK, Fact, fact
from attribution.foreign.judge import judge_trace
from attribution.foreign.records import ForeignTrace, Outcome
from attribution.foreign.replay import Replay
from attribution.foreign.replay_checks import edit_facts
from attribution.foreign.siblings import Ended, by_task, ended, sibling_facts
from attribution.records import Attribution, EvidenceKind, Party
from components.task.foreign.findings import Finding, Kind
from components.task.foreign.gates import Pool, audit
from components.task.foreign.worker import Foreign

_FAILS_GOLD = (Kind.GOLD_FAILS, Kind.GOLD_UNSTABLE, Kind.GOLD_WITHHELD)
"""Defects by which no agent can pass, or not for sure."""
_MISLEADS = (Kind.GOLD_RAISES, Kind.GOLD_UNFIT, Kind.BREAKS_POLICY, Kind.VALUE_UNSAID)
"""Defects by which a right agent can fail, where what gold does is what the trace lacks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """What came of one trace."""

    trace: ForeignTrace
    """With the benchmark's own verdict where it had none."""
    facts: tuple[Fact, ...]
    ended: Ended | None
    """None: it was not played, or comes out otherwise than it says."""
    note: str
    """Why it was not used; empty: it was."""


def judge_with_tasks(
    foreign: Foreign,
    traces: Sequence[ForeignTrace],
    pool: Pool,
    progress: Callable[[int, int], None],
) -> list[tuple[ForeignTrace, Attribution]]:
    """Return each trace, with its outcome where the benchmark had to tell it, and its verdict.

    Args:
        foreign: the benchmark that the traces' tasks are of.
        traces: the traces, all that are known of a task for what they say of each other.
        pool: values and writes of the benchmark's golds.
        progress: gets how many are done, and of how many.
    """
    defects: dict[str, list[Finding]] = {}
    played = []
    for number, trace in enumerate(traces, start=1):
        played.append(_replayed(foreign, trace, pool, defects))
        progress(number, len(traces))
    found = {item.trace.trace_id: item.ended for item in played if item.ended is not None}
    groups = by_task(found, [item.trace for item in played])
    judged = []
    for item in played:
        facts = item.facts
        if item.ended is not None and item.trace.outcome is Outcome.FAILED:
            group = groups[item.trace.task_id]
            facts = (*facts, *sibling_facts(item.trace, item.ended, group))
        judged.append((item.trace, judge_trace(item.trace, facts, item.note)))
    return judged


def _replayed(
    foreign: Foreign, trace: ForeignTrace, pool: Pool, defects: dict[str, list[Finding]]
) -> Replayed:
    if trace.task_id not in foreign.names:
        note = f"a task of the benchmark (it has none called {trace.task_id})"
        return Replayed(trace=trace, facts=(), ended=None, note=note)
    replay = Replay(foreign, trace)
    if trace.outcome is Outcome.UNKNOWN and not trace.broken and replay.played.passes is not None:
        outcome = Outcome.PASSED if replay.played.passes else Outcome.FAILED
        trace = trace.model_copy(update={"outcome": outcome, "unmet": (replay.played.why,)})
        replay.trace = trace
    if not replay.has_same_outcome:
        note = (
            "the benchmark as it was when the trace was made: the one at hand says of its calls "
            f"that the task {'passes' if replay.played.passes else 'fails'} ({replay.played.why})"
        )
        return Replayed(trace=trace, facts=(), ended=None, note=note)
    if trace.outcome is not Outcome.FAILED:
        return Replayed(trace=trace, facts=(), ended=ended(replay, trace.outcome, ()), note="")
    edits = needed_edits(replay)
    if trace.task_id not in defects:
        defects[trace.task_id] = audit(foreign, replay.task, pool)
    facts = (*edit_facts(replay, edits), *_task_facts(replay, edits, defects[trace.task_id]))
    note = "" if edits else "what else than gold's writes and words the benchmark wants"
    return Replayed(trace=trace, facts=facts, ended=ended(replay, trace.outcome, edits), note=note)


def _task_facts(
    replay: Replay, edits: Sequence[Edit], defects: Sequence[Finding]
) -> tuple[Fact, ...]:
    """Return defects of the task that can have failed this trace."""
    touched = {edit.gold for edit in edits if edit.gold >= 0}
    tools = {replay.done[edit.position].call["tool"] for edit in edits if edit.position >= 0}
    found = []
    for defect in defects:
        refused = {replay.gold[at].call["tool"] for at in defect.refused if at < len(replay.gold)}
        near = touched & set(defect.refused) or refused & tools
        named = any(
            defect.why.startswith((f"call {at + 1}:", f"{replay.gold[at].call['tool']}:"))
            for at in touched
        )
        if defect.kind in _FAILS_GOLD or (defect.kind in _MISLEADS and (near or named)):
            found.append(
                fact(
                    replay.trace,
                    Party.TASK,
                    f"task/{replay.task.name}#/gold",
                    f"{defect.name}: {defect.why}",
                    "audit",
                    turn=0,
                    confidence=STRONG if defect.kind in _FAILS_GOLD else WEAK,
                    kind=EvidenceKind.PLAYED,
                )
            )
    return tuple(found)
