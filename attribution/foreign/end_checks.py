"""How an episode ended, and what a simulated user said that it could not know."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from attribution.foreign.answers import short
from attribution.foreign.facts import LIKELY, USER_SIMULATOR, WEAK, Fact, fact, num_turns
from attribution.foreign.records import ForeignTrace, Speaker
from attribution.foreign.words import has_any, words
from attribution.records import Party

_ID = re.compile(r"[A-Za-z0-9#@._+-]*\d[A-Za-z0-9#@._+-]*|[\w.+-]+@[\w.-]+")
_FEWEST = 4


def end_facts(trace: ForeignTrace) -> tuple[Fact, ...]:
    """Return what is wrong with the end of an episode."""
    return (*_cut_message(trace), *_limits(trace))


def user_facts(trace: ForeignTrace) -> tuple[Fact, ...]:
    """Return where a simulated user contradicts itself, or what it was told."""
    if trace.scenario is None:
        return ()
    return (*_two_values(trace), *_unknown_to_user(trace))


def _cut_message(trace: ForeignTrace) -> Iterator[Fact]:
    """A message of the agent that a limit of tokens cut."""
    turn, last = -1, num_turns(trace) - 1
    for message in trace.messages:
        if message.speaker is not Speaker.AGENT:
            continue
        turn += 1
        if message.stop.lower() in words("cut_stops"):
            what = "the last message" if turn == last else "the message"
            yield fact(
                trace,
                Party.HARNESS,
                "harness#/limits/max_turn_tokens",
                f"{what} of turn {turn} was cut by a limit of tokens (stopped by {message.stop})",
                "cut_message",
                turn=turn,
                confidence=LIKELY,
                is_mended=turn < last,
            )


def _limits(trace: ForeignTrace) -> Iterator[Fact]:
    turn = max(num_turns(trace) - 1, 0)
    if trace.ended in words("limit_ends"):
        yield fact(
            trace,
            Party.HARNESS,
            "harness#/limits/max_turns",
            f"the episode ended at a limit ({trace.ended}) after {turn + 1} turns",
            "limit",
            turn=turn,
            confidence=WEAK,
        )
    if trace.ended in words("user_error_ends"):
        yield fact(
            trace,
            Party.HARNESS,
            USER_SIMULATOR,
            "the program that ran the episode ended it because of the simulated user "
            f"({trace.ended})",
            "user_error",
            turn=turn,
            confidence=LIKELY,
        )
    if trace.ended in words("agent_error_ends"):
        yield fact(
            trace,
            Party.POLICY,
            f"turn/{turn}",
            f"the program that ran the episode ended it because of the agent ({trace.ended})",
            "agent_error",
            turn=turn,
            confidence=LIKELY,
        )


def _two_values(trace: ForeignTrace) -> Iterator[Fact]:
    """Two values for one thing, where nothing says that the first was wrong."""
    known: dict[str, str] = {}
    for turn, text in _user_texts(trace):
        for label, value in _labelled(text):
            before = known.setdefault(label, value)
            if before != value and not has_any(text, "corrects"):
                yield fact(
                    trace,
                    Party.HARNESS,
                    USER_SIMULATOR,
                    f"the simulated user gives its {label} as '{short(value)}' after turn {turn}, "
                    f"and as '{short(before)}' before",
                    "two_values",
                    turn=turn,
                    confidence=LIKELY,
                )
            known[label] = value


def _unknown_to_user(trace: ForeignTrace) -> Iterator[Fact]:
    """An id that the user was not told, and that nobody has said to it."""
    heard = [trace.scenario or ""]
    turn = -1
    for message in trace.messages:
        if message.speaker is Speaker.AGENT:
            turn += 1
        if message.speaker is Speaker.USER:
            known = "\n".join(heard).lower()
            for value in _ids(message.text):
                if value.lower() not in known:
                    yield fact(
                        trace,
                        Party.HARNESS,
                        USER_SIMULATOR,
                        f"the simulated user says '{short(value)}' after turn {max(turn, 0)}, "
                        "which neither its scenario nor the conversation holds",
                        "unknown_to_user",
                        turn=max(turn, 0),
                        confidence=WEAK,
                    )
                    heard.append(value)
            heard += [call.answer.text for call in message.calls if call.answer is not None]
        if message.speaker is not Speaker.SYSTEM:
            heard.append(message.text)


def _user_texts(trace: ForeignTrace) -> Iterator[tuple[int, str]]:
    turn = -1
    for message in trace.messages:
        turn += message.speaker is Speaker.AGENT
        if message.speaker is Speaker.USER:
            yield max(turn, 0), message.text


def _labelled(text: str) -> Iterator[tuple[str, str]]:
    """Yield what a user says of itself: `my order id is #W1` gives `order id` and `#w1`."""
    labels = "|".join(re.escape(label) for label in words("labels"))
    pattern = rf"\bmy ({labels})\s*(?:is|:|=)\s*([^\s,;!?]+)"
    for found in re.finditer(pattern, text, re.IGNORECASE):
        yield found[1].lower(), found[2].strip(".\"'").lower()


def _ids(text: str) -> Sequence[str]:
    """Return the words of a text that look like ids: with a digit and more, or an address."""
    found = (match.strip(".-_+") for match in _ID.findall(text))
    return [
        value
        for value in found
        if len(value) >= _FEWEST and not value.replace(".", "").isdigit() and "#" not in value[1:]
    ]
