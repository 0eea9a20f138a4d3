"""The verdict on a trace: what its own text permits, and what playing it again has shown.

Where nothing can be replayed, nothing is surer than *likely*. In order: what broke around the agent
is not judged; a success is cleared, with what speaks against its parts kept as evidence; of a
failure the facts that were never made good count, the earliest first. Where the trace was played in
its benchmark, what the task needs otherwise counts, and how the episode ended; what the text alone
shows is kept as evidence. Where the outcome is not said, or no fact is left, the verdict is
*undecided* and says what would decide.
"""

from __future__ import annotations

from collections.abc import Sequence

from attribution.foreign.answer_checks import answer_facts
from attribution.foreign.answers import Answer, short
from attribution.foreign.call_checks import call_facts
from attribution.foreign.end_checks import end_facts, user_facts
from attribution.foreign.facts import WEAK, Fact, Traced, fact, num_turns, traced_calls
from attribution.foreign.records import ForeignTrace, Outcome, Speaker
from attribution.foreign.words import words
from attribution.records import Attribution, Blame, Decision, Party, Verdict
from components.records.frozen import FrozenDict, thaw
from components.records.trajectory import ScoredTrajectory, ScoreStatus


def judge_trace(
    trace: ForeignTrace, replayed: Sequence[Fact] = (), wanted: str = ""
) -> Attribution:
    """Return the verdict on one trace with its evidence.

    Args:
        trace: the trace.
        replayed: what playing it again has shown; empty: nothing, or it was not played.
        wanted: what would have to be known for a replay to decide; empty: not said.
    """
    calls = traced_calls(trace)
    broken = trace.broken or _filtered(trace)
    if broken:
        found = fact(
            trace,
            Party.POLICY,
            "provider",
            f"what runs the agent broke: {broken}",
            "broken",
            turn=max(num_turns(trace) - 1, 0),
            confidence=WEAK,
        )
        said = found.evidence.model_copy(update={"against": False})
        return _verdict(
            trace, Decision.NOT_JUDGED, (Fact(evidence=said, turn=found.turn, confidence=WEAK),)
        )
    facts = (
        *call_facts(trace, calls),
        *answer_facts(trace, calls),
        *end_facts(trace),
        *user_facts(trace),
        *replayed,
    )
    ordered = tuple(sorted(facts, key=lambda item: (item.turn, item.evidence.evidence_id)))
    if trace.outcome is Outcome.PASSED:
        return _verdict(trace, Decision.CLEARED, ordered)
    if trace.outcome is Outcome.UNKNOWN:
        wanted = "whether it failed: an outcome (passed, failed) or a reward"
        return _verdict(trace, Decision.UNDECIDED, ordered, would_decide=wanted)
    shown = [item for item in replayed if item.evidence.against]
    if shown:
        return _verdict(trace, Decision.BLAMED, ordered, blamed=_shown(trace, shown))
    left = [item for item in ordered if not item.is_mended and item.evidence.against]
    if not left:
        wanted = wanted or _wanted(trace, calls)
        return _verdict(trace, Decision.UNDECIDED, ordered, would_decide=wanted)
    return _verdict(trace, Decision.BLAMED, ordered, blamed=_blamed(left))


def scored_of(trace: ForeignTrace) -> ScoredTrajectory:
    """Return a trace's own result in the form that failure modes are counted by."""
    is_known = trace.outcome is not Outcome.UNKNOWN
    reward = trace.reward
    if reward is None and is_known:
        reward = 1.0 if trace.outcome is Outcome.PASSED else 0.0
    return ScoredTrajectory(
        rollout_id=trace.trace_id,
        task_id=trace.task_id,
        status=ScoreStatus.SCORED if is_known else ScoreStatus.UNSCORED,
        criteria=FrozenDict(),
        passed=trace.outcome is Outcome.PASSED if is_known else None,
        reward=min(max(reward, 0.0), 1.0) if reward is not None and is_known else None,
        reason="" if is_known else "the trace does not say",
    )


def _filtered(trace: ForeignTrace) -> str:
    last = next((m for m in reversed(trace.messages) if m.speaker is Speaker.AGENT), None)
    if last is None:
        return "the trace has no message of the agent"
    stop = last.stop.lower()
    return (
        f"the endpoint withheld the last message ({stop})"
        if stop in words("filtered_stops")
        else ""
    )


def _blamed(left: Sequence[Fact]) -> tuple[Blame, ...]:
    """Return whom the facts speak against, the surest of the earliest first, each place once.

    Where facts of several parties are left, nobody is likelier than the others.
    """
    parties = {item.evidence.party for item in left}
    most = 1.0 if len(parties) == 1 else WEAK
    places: dict[tuple[Party, str], float] = {}
    for item in left:
        key = (item.evidence.party, item.evidence.place)
        places[key] = max(places.get(key, 0.0), min(item.confidence, most))
    order = (
        sorted(places.items(), key=lambda pair: -pair[1]) if most == 1.0 else list(places.items())
    )
    return tuple(Blame(party=party, place=place, confidence=sure) for (party, place), sure in order)


def _shown(trace: ForeignTrace, shown: Sequence[Fact]) -> tuple[Blame, ...]:
    """Return whom a replay speaks against, the surest first, of equals the earliest.

    What is missing from an episode that an error ended is the error's doing.
    """
    ends = [item for item in end_facts(trace) if not item.is_mended]
    if ends:
        lacking = ("put_in", "said")
        shown = [item for item in shown if thaw(item.evidence.data).get("check") not in lacking]
    places: dict[tuple[Party, str], float] = {}
    for item in sorted((*shown, *ends), key=lambda item: (-item.confidence, item.turn)):
        key = (item.evidence.party, item.evidence.place)
        places.setdefault(key, item.confidence)
    return tuple(
        Blame(party=party, place=place, confidence=sure) for (party, place), sure in places.items()
    )


def _wanted(trace: ForeignTrace, calls: Sequence[Traced]) -> str:
    """Return what would decide about a failure in which nothing is left that speaks."""
    wanted = []
    refused = _last_refusal(calls)
    if refused is not None and refused.call.answer is not None:
        wanted.append(
            f"whether {refused.call.name} was right to refuse in turn {refused.turn} "
            f"({short(refused.call.answer.text)})"
        )
    if trace.unmet:
        wanted.append(f"how this could be met from there: {trace.unmet[0]}")
    wanted.append("a reference solution, or the state to be left, to replay against")
    if not trace.tools:
        wanted.append("the schemas of the tools")
    if calls and all(item.answer is Answer.ABSENT for item in calls):
        wanted.append("what the tools answered")
    return "; ".join(wanted)


def _last_refusal(calls: Sequence[Traced]) -> Traced | None:
    """Return the last call of the agent that was refused and that no later one made good."""
    answered: set[str] = set()
    for item in reversed(calls):
        if item.call.by is not Speaker.AGENT:
            continue
        if item.answer is Answer.FINE:
            answered.add(item.call.name)
        if item.answer in (Answer.REFUSED, Answer.MISSING) and item.call.name not in answered:
            return item
    return None


def _verdict(
    trace: ForeignTrace,
    decision: Decision,
    facts: Sequence[Fact],
    *,
    blamed: tuple[Blame, ...] = (),
    would_decide: str = "",
) -> Attribution:
    found = tuple(item.evidence for item in facts)
    verdict = Verdict(
        rollout_id=trace.trace_id,
        task_id=trace.task_id,
        decision=decision,
        blamed=blamed,
        would_decide=would_decide,
        evidence_ids=tuple(item.evidence_id for item in found),
    )
    return Attribution(verdict=verdict, evidence=found)
