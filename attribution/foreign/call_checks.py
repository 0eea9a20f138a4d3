"""Calls held against the tools that were offered, and against what the agent could know.

What the agent wrote wrongly speaks against the policy, at its turn; unless a limit cut the message.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from attribution.foreign.answers import Answer, is_volatile, schema_problem, short
from attribution.foreign.facts import LIKELY, WEAK, Fact, Traced, fact, num_turns
from attribution.foreign.records import ForeignTrace, Speaker
from attribution.foreign.words import words
from attribution.records import Party
from components.harness.defaults import default_harness
from components.harness.parsing import parse_turn
from components.records.frozen import FrozenDict, texts_in

REPEATS = 3
"""Identical calls with the same answer, one after the other, that are too many."""
_FEWEST = 4
"""Characters of a value that is looked for in what was said before."""
_MOST_TEXT = 50_000
"""Characters of a message in which calls are looked for."""


def call_facts(trace: ForeignTrace, calls: Sequence[Traced]) -> tuple[Fact, ...]:
    """Return what is wrong with the agent's calls."""
    mine = [item for item in calls if item.call.by is Speaker.AGENT]
    found = [made for item in mine if (made := _ill_formed(trace, item, mine)) is not None]
    known = {made.evidence.call_index for made in found}
    found += [
        made
        for item in mine
        if item.number not in known and (made := _invented(trace, item, mine)) is not None
    ]
    return (*found, *_repeated(trace, mine), *_unread(trace))


def _ill_formed(trace: ForeignTrace, item: Traced, mine: Sequence[Traced]) -> Fact | None:
    call, place = item.call, f"turn/{item.turn}"
    is_mended, confidence = _is_answered_later(item, mine), LIKELY
    if call.arguments is None:
        if trace.messages[item.message].stop in words("cut_stops"):
            return None  # the limit that cut the message is a fact of its own
        check, said = "malformed", f"its arguments are no JSON object: {short(call.written)}"
    elif trace.tools and call.name not in trace.tools:
        check, said = "unknown_tool", "there is no such tool"
        is_mended = any(
            later.number > item.number and later.answer is Answer.FINE for later in mine
        )
    else:
        tool = trace.tools.get(call.name)
        problem = schema_problem(None if tool is None else tool.parameters, call.arguments)
        if not problem:
            return None
        check, said = "invalid_arguments", f"its arguments do not fit the tool's schema: {problem}"
        if _is_said_by_user(trace, item, problem):
            confidence, said = WEAK, f"{said}; the value is the user's own words"
        is_mended = is_mended or item.answer is Answer.FINE
    return fact(
        trace,
        Party.POLICY,
        place,
        f"turn {item.turn} calls {call.name or 'a tool without a name'}, and {said}",
        check,
        turn=item.turn,
        confidence=confidence,
        traced=item,
        is_mended=is_mended,
    )


def _is_said_by_user(trace: ForeignTrace, item: Traced, problem: str) -> bool:
    """Return whether the value that does not fit stands in a user's message as it is."""
    said = "\n".join(
        message.text
        for message in trace.messages[: item.message]
        if message.speaker is Speaker.USER
    )
    values = texts_in(item.call.arguments or {})
    return any(len(text) >= _FEWEST and text in problem and text in said for text in values)


def _is_answered_later(item: Traced, mine: Sequence[Traced]) -> bool:
    """Return whether a later call of the same tool was answered."""
    return any(
        later.number > item.number
        and later.answer is Answer.FINE
        and later.call.name == item.call.name
        for later in mine
    )


def _invented(trace: ForeignTrace, item: Traced, mine: Sequence[Traced]) -> Fact | None:
    """A value that nothing showed before, given to a tool that says that there is no such thing."""
    if item.answer is not Answer.MISSING or item.call.arguments is None:
        return None
    tool = trace.tools.get(item.call.name)
    listed = [str(text) for text in texts_in(tool.parameters)] if tool and tool.parameters else []
    before = "\n".join([*_said_before(trace, item), *listed]).lower()
    for value in texts_in(item.call.arguments):
        text = value.strip().lower()
        is_id = len(text) >= _FEWEST and " " not in text and any(map(str.isdigit, text))
        if is_id and text not in before:
            return fact(
                trace,
                Party.POLICY,
                f"turn/{item.turn}",
                f"turn {item.turn} gives {item.call.name} '{short(value)}', which nothing showed "
                "before, and it is not there",
                "invented_value",
                turn=item.turn,
                confidence=WEAK,
                traced=item,
                is_mended=_is_answered_later(item, mine),
            )
    return None


def _said_before(trace: ForeignTrace, item: Traced) -> Iterator[str]:
    for message in trace.messages[: item.message]:
        if message.speaker is not Speaker.AGENT:
            yield message.text
        for call in message.calls:
            if call.answer is not None:
                yield call.answer.text


def _repeated(trace: ForeignTrace, mine: Sequence[Traced]) -> Iterator[Fact]:
    """The same call again and again, though nothing was done in between and nothing changed."""
    run: list[Traced] = []
    seen: Counter[bytes] = Counter()
    for item in (*mine, None):
        same = item is not None and bool(run) and item.key == run[-1].key
        same = same and item is not None and item.call.answer == run[-1].call.answer
        if same and item is not None:
            run.append(item)
            continue
        if len(run) >= REPEATS and not is_volatile(run[0].call.name):
            seen[run[0].key] += 1
            third = run[REPEATS - 1]
            yield fact(
                trace,
                Party.POLICY,
                f"turn/{third.turn}",
                f"turn {third.turn} makes the same call of {third.call.name} for the "
                f"{len(run)}. time with the same answer"
                if len(run) == REPEATS
                else f"from turn {run[0].turn} on the same call of {third.call.name} is made "
                f"{len(run)} times with the same answer",
                "repeated_call",
                turn=third.turn,
                confidence=WEAK,
                traced=third,
                times=len(run),
            )
        run = [] if item is None else [item]


def _unread(trace: ForeignTrace) -> Iterator[Fact]:
    """A message without a call in which a parser reads one of an offered tool."""
    schemas = {name: tool.parameters or FrozenDict() for name, tool in trace.tools.items()}
    if not schemas:
        return
    settings, turn = default_harness(), -1
    for message in trace.messages:
        if message.speaker is not Speaker.AGENT:
            continue
        turn += 1
        if message.calls or not re.search(r"[{<]", message.text):
            continue
        for call in parse_turn(message.text[:_MOST_TEXT], settings, schemas, turn).calls:
            if call.name in schemas and not schema_problem(schemas[call.name], call.arguments):
                yield fact(
                    trace,
                    Party.HARNESS,
                    f"harness#/parsers/{call.parser}",
                    f"turn {turn} writes a valid call of {call.name} ({call.parser}), and none "
                    "was read",
                    "unread_call",
                    turn=turn,
                    confidence=LIKELY,
                    is_mended=turn < num_turns(trace) - 1 and _is_called(trace, call.name, turn),
                )
                break


def _is_called(trace: ForeignTrace, name: str, turn: int) -> bool:
    """Return whether a tool is called after a turn."""
    messages = [item for item in trace.messages if item.speaker is Speaker.AGENT]
    return any(call.name == name for item in messages[turn + 1 :] for call in item.calls)
