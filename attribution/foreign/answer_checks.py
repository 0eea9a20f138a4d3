"""Answers held against their own schema and against each other, and what was shown of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attribution.evidence import pointer_of
from attribution.foreign.answers import Answer, is_cut, is_volatile, schema_problem, short
from attribution.foreign.facts import LIKELY, WEAK, Fact, Traced, fact
from attribution.foreign.records import ForeignAnswer, ForeignTrace
from attribution.records import Party


def answer_facts(trace: ForeignTrace, calls: Sequence[Traced]) -> tuple[Fact, ...]:
    """Return what is wrong with the answers."""
    return (
        *(made for item in calls if (made := _broke(trace, item, calls)) is not None),
        *(made for item in calls if (made := _off_schema(trace, item)) is not None),
        *_inconsistent(trace, calls),
        *(made for item in calls if (made := _cut(trace, item)) is not None),
        *_dropped(trace, calls),
    )


def tool_place(name: str, *parts: str) -> str:
    """Return the place of a tool that is known by its name alone."""
    return f"tool{pointer_of(name)}#{pointer_of(*parts)}"


def _broke(trace: ForeignTrace, item: Traced, calls: Sequence[Traced]) -> Fact | None:
    """A tool that failed by itself on a call that its schema takes."""
    call = item.call
    if item.answer is not Answer.BROKE or call.answer is None or call.arguments is None:
        return None
    tool = trace.tools.get(call.name)
    if (trace.tools and tool is None) or (
        tool is not None and schema_problem(tool.parameters, call.arguments)
    ):
        return None  # the call is at fault
    is_mended = any(
        later.number > item.number and later.key == item.key and later.answer is Answer.FINE
        for later in calls
    )
    return fact(
        trace,
        Party.ENVIRONMENT,
        tool_place(call.name),
        f"{call.name} breaks on arguments that it takes: {short(call.answer.text)}",
        "tool_broke",
        turn=item.turn,
        confidence=LIKELY,
        traced=item,
        is_mended=is_mended,
    )


def _off_schema(trace: ForeignTrace, item: Traced) -> Fact | None:
    tool, answer = trace.tools.get(item.call.name), item.call.answer
    if tool is None or answer is None or item.answer is not Answer.FINE or answer.data is None:
        return None
    problem = schema_problem(tool.output, answer.data)
    if not problem:
        return None
    return fact(
        trace,
        Party.ENVIRONMENT,
        tool_place(tool.name, "output"),
        f"{tool.name} answers otherwise than its own output schema says: {problem}",
        "output_schema",
        turn=item.turn,
        confidence=LIKELY,
        traced=item,
    )


def _inconsistent(trace: ForeignTrace, calls: Sequence[Traced]) -> Iterator[Fact]:
    """The same read twice with nothing written in between, and another answer."""
    known: dict[bytes, Traced] = {}
    for item in calls:
        if not item.is_read:
            known.clear()
            continue
        if item.answer not in (Answer.FINE, Answer.MISSING) or is_volatile(item.call.name):
            continue
        before = known.setdefault(item.key, item)
        ours, theirs = item.call.answer, before.call.answer
        if ours is not None and theirs is not None and not _is_same(ours, theirs):
            yield fact(
                trace,
                Party.ENVIRONMENT,
                tool_place(item.call.name),
                f"{item.call.name} answers the same call otherwise in turn {item.turn} than in "
                f"turn {before.turn}, and nothing was written in between",
                "inconsistent_read",
                turn=item.turn,
                confidence=WEAK,
                traced=item,
                before=short(theirs.text),
                after=short(ours.text),
            )
            known[item.key] = item


def _is_same(ours: ForeignAnswer, theirs: ForeignAnswer) -> bool:
    if ours.data is not None and theirs.data is not None:
        return bool(ours.data == theirs.data)
    return ours.text.split() == theirs.text.split()


def _cut(trace: ForeignTrace, item: Traced) -> Fact | None:
    answer = item.call.answer
    sign = "" if answer is None or item.answer is not Answer.FINE else is_cut(answer)
    if not sign:
        return None
    return fact(
        trace,
        Party.HARNESS,
        "harness#/limits/max_observation_chars",
        f"an answer of {item.call.name} was not shown whole in turn {item.turn}: {sign}",
        "cut_answer",
        turn=item.turn,
        confidence=WEAK,
        traced=item,
    )


def _dropped(trace: ForeignTrace, calls: Sequence[Traced]) -> Iterator[Fact]:
    """A call without an answer, although the episode went on and others have theirs."""
    if all(item.answer is Answer.ABSENT for item in calls):
        return
    for item in calls:
        if item.answer is Answer.ABSENT and item.message < len(trace.messages) - 1:
            yield fact(
                trace,
                Party.HARNESS,
                "harness#/tool_exposure",
                f"the call of {item.call.name} in turn {item.turn} got no answer, and the episode "
                "went on",
                "dropped_call",
                turn=item.turn,
                confidence=WEAK,
                traced=item,
            )
