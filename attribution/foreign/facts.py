"""Facts of a trace: each one thing that can be pointed at, with whom it speaks against.

A fact is *mended* where the agent, or the tool, made good later on what it says. How it weighs on
the verdict, `attribution.foreign.judge` decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from attribution.evidence import evidence
from attribution.foreign.answers import Answer, is_read, kind_of
from attribution.foreign.records import ForeignCall, ForeignTrace, Speaker
from attribution.records import Evidence, EvidenceKind, Party
from components.records.frozen import canonical_json, thaw

STRONG, LIKELY, WEAK = 0.9, 0.75, 0.5
USER_SIMULATOR = "user_simulator#"
"""Place of what a simulated user did wrong; the harness owns its engine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Traced:
    """One call in its trace."""

    number: int
    """Which call of the trace, from 0."""
    turn: int
    """Turn of the agent that makes it; of a user's call, the turn before it."""
    message: int
    """Index of its message."""
    call: ForeignCall
    answer: Answer
    is_read: bool

    @property
    def key(self) -> bytes:
        """Name and arguments as bytes: equal for identical calls."""
        arguments = self.call.arguments
        said = self.call.written if arguments is None else thaw(arguments)
        return canonical_json([self.call.by.value, self.call.name, said])


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """Evidence, and what it weighs."""

    evidence: Evidence
    turn: int
    """When: a turn of the agent; that of the end for what ended the episode."""
    confidence: float
    """How sure the party is to blame where nothing else speaks."""
    is_mended: bool = False
    """Whether it was made good later in the trace."""


def traced_calls(trace: ForeignTrace) -> tuple[Traced, ...]:
    """Return every call of a trace in order."""
    return tuple(_traced(trace))


def _traced(trace: ForeignTrace) -> Iterator[Traced]:
    number, turn = 0, -1
    for index, message in enumerate(trace.messages):
        turn += message.speaker is Speaker.AGENT
        for call in message.calls:
            yield Traced(
                number=number,
                turn=max(turn, 0),
                message=index,
                call=call,
                answer=kind_of(call.answer),
                is_read=is_read(call, trace.tools),
            )
            number += 1


def num_turns(trace: ForeignTrace) -> int:
    """Return how many messages the agent wrote."""
    return sum(message.speaker is Speaker.AGENT for message in trace.messages)


def fact(
    trace: ForeignTrace,
    party: Party,
    place: str,
    statement: str,
    check: str,
    *,
    turn: int,
    confidence: float,
    traced: Traced | None = None,
    is_mended: bool = False,
    kind: EvidenceKind = EvidenceKind.TRACE,
    **data: Any,
) -> Fact:
    """Return one fact of a trace.

    Args:
        trace: the trace.
        party: whom it speaks against.
        place: where in that party.
        statement: the fact in one sentence.
        check: name of the check that found it.
        turn: turn of the agent that it is of.
        confidence: how sure the party is to blame where nothing else speaks.
        traced: the call that it is of, where it is of one.
        is_mended: whether it was made good later.
        kind: how it was found.
        data: what else a reader needs to see it again, as JSON values.
    """
    more: dict[str, Any] = {"mended": True} if is_mended else {}
    called: dict[str, Any] = (
        {}
        if traced is None
        else {"tool": traced.call.name, "arguments": traced.call.arguments or traced.call.written}
    )
    made = evidence(
        kind,
        party,
        place,
        statement,
        task_id=trace.task_id,
        rollout_id=trace.trace_id,
        call_index=None if traced is None else traced.number,
        check=check,
        turn=turn,
        **called,
        **more,
        **data,
    )
    return Fact(evidence=made, turn=turn, confidence=confidence, is_mended=is_mended)
