"""Who caused a write that should have been otherwise, or should not have been.

The words by which the right and the wrong value differ are looked for in what the user was told to
want, in what it said before the write, and in what the agent had said before it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from attribution.foreign.answers import name_parts, short
from attribution.foreign.edits import Edit
from attribution.foreign.facts import LIKELY, STRONG, USER_SIMULATOR, WEAK
from attribution.foreign.names import written_call
from attribution.foreign.records import Speaker
from attribution.foreign.replay import Done, Replay
from attribution.foreign.sayings import Sayings, word_set
from attribution.foreign.words import has_any, words
from attribution.records import Party

_SHORTEST = 4
"""Letters of a value that is looked for as it is written."""


@dataclass(frozen=True, slots=True)
class Cause:
    """Whom something speaks against, and why."""

    party: Party
    place: str
    sure: float
    why: str
    turn: int
    """Turn of the agent that it is of."""

    @classmethod
    def policy(cls, turn: int, sure: float, why: str) -> Cause:
        """Return blame of the agent."""
        return cls(Party.POLICY, f"turn/{turn}", sure, why, turn)

    @classmethod
    def user(cls, turn: int, sure: float, why: str) -> Cause:
        """Return blame of the simulated user; `why` says what it did."""
        return cls(Party.HARNESS, USER_SIMULATOR, sure, f"the simulated user {why}", turn)


def value_cause(replay: Replay, sayings: Sayings, edit: Edit) -> Cause:
    """Return who caused the values of a write that should have had others.

    Args:
        replay: the trace and its gold, played.
        sayings: who said what.
        edit: the edit that puts gold's values in.
    """
    own, gold = replay.done[edit.position], replay.gold[edit.gold]
    here, there = own.call["arguments"], gold.call["arguments"]
    empty = [key for key in edit.keys if not here.get(key) and there.get(key)]
    if empty:
        return Cause.policy(own.turn, STRONG, f"the agent left {', '.join(empty)} empty")
    chosen, wanted = (
        sayings.of_value([values.get(key) for key in edit.keys]) for values in (here, there)
    )
    is_told = any(sayings.is_told(values.get(key)) for values in (here, there) for key in edit.keys)
    is_seen = any(sayings.is_seen(value) for value in flat(there, edit.keys))
    if not is_told and (not is_seen or _offered_both(replay, own, edit, there)):
        left_open = _left_to_user(replay, sayings, own, chosen - wanted)
        if left_open is not None:
            return left_open
    picked = _picked(replay, sayings, own, flat(here, edit.keys), flat(there, edit.keys))
    if picked is not None:
        return picked
    if not is_told and not has_any("\n".join(replay.task.texts), "selectors"):
        left_open = _left_to_user(replay, sayings, own, chosen - wanted)
        if left_open is not None:
            return left_open
    return _by_words(sayings, own, chosen=chosen - wanted, wanted=wanted - chosen)


def _picked(
    replay: Replay, sayings: Sayings, own: Done, chosen: list[str], wanted: list[str]
) -> Cause | None:
    """Return whom a value speaks against that the user named itself; None: it named none."""
    assert own.traced is not None
    before, turn = own.traced.message, own.turn
    texts = [(m.speaker, m.text.lower()) for m in replay.trace.messages[:before]]
    scenario = "\n".join(replay.task.texts).lower()
    for value in (item for item in chosen if item not in wanted and len(item) >= _SHORTEST):
        named = next(
            (n for n, (s, t) in enumerate(texts) if s is Speaker.USER and value in t), None
        )
        if named is None or value in scenario:
            continue
        agents = "\n".join(text for speaker, text in texts[:named] if speaker is Speaker.AGENT)
        offered = any(other in agents for other in wanted if other not in chosen)
        if value in agents and not offered:
            continue
        if not sayings.is_seen(value) and not any(sayings.is_seen(item) for item in wanted):
            continue
        how = "picked" if value in agents else "named"
        why = f"{how} '{short(value)}', which its scenario does not hold"
        return Cause.user(turn, LIKELY, why)
    return None


def _offered_both(replay: Replay, own: Done, edit: Edit, wanted: dict[str, Any]) -> bool:
    """Return whether the agent had named both values before its write."""
    assert own.traced is not None
    before = replay.trace.messages[: own.traced.message]
    said = "\n".join(m.text for m in before if m.speaker is Speaker.AGENT).lower()
    here, there = flat(own.call["arguments"], edit.keys), flat(wanted, edit.keys)
    return any(value in said for value in here if value not in there) and any(
        value in said for value in there if value not in here
    )


def _left_to_user(
    replay: Replay, sayings: Sayings, own: Done, chosen: frozenset[str]
) -> Cause | None:
    """Return the blame of a task that says nothing of what the user chose; None: it did not."""
    assert own.traced is not None
    before = own.traced.message
    if sayings.first_user(chosen, before) is None:
        return None
    picked = some(chosen & sayings.of_user(before))
    why = f"the user chose {picked}, and nothing in its scenario tells it what to choose"
    return Cause(Party.TASK, f"task/{replay.task.name}#/instruction", LIKELY, why, own.turn)


def extra_cause(replay: Replay, sayings: Sayings, edit: Edit) -> Cause:
    """Return who caused a write that should not have been.

    Args:
        replay: the trace and its gold, played.
        sayings: who said what.
        edit: the edit that takes it out.
    """
    own = replay.done[edit.position]
    assert own.traced is not None
    before = own.traced.message
    right = frozenset().union(*(call_words(sayings, done) for done in replay.gold if done.is_write))
    chosen, heard = call_words(sayings, own), sayings.of_user(before)
    asked = heard & (chosen - right) or heard & chosen
    verb = name_parts(own.call["tool"])[0]
    by_user = sayings.first_with(Speaker.USER, verb, before)
    by_agent = sayings.first_with(Speaker.AGENT, verb, before)
    blocked = _blocked(replay, edit.position)
    unspoken = _unspoken(replay, sayings, own, before)
    if blocked:
        return Cause.policy(own.turn, LIKELY, f"after it {blocked} was refused")
    if not asked:
        return Cause.policy(own.turn, LIKELY, "the user never asked for it")
    if unspoken and verb in words("removals"):
        return Cause.policy(own.turn, LIKELY, f"it also touches {some(unspoken)}, never spoken of")
    if by_agent is not None and (by_user is None or by_agent < by_user):
        return Cause.policy(own.turn, LIKELY, f"the agent was the first to speak of '{verb}'")
    if sayings.scenario & asked:
        why = f"asked for {some(asked)}, and its scenario does not end so"
        return Cause.user(own.turn, WEAK, why)
    return Cause.user(own.turn, LIKELY, f"asked for {some(asked)}, which nothing told it")


def _blocked(replay: Replay, position: int) -> str:
    """Return a later call that gold makes and that was refused on the same record; else empty."""
    own = set(flat(replay.done[position].call["arguments"]))
    for later in replay.done[position + 1 :]:
        given = set(flat(later.call["arguments"]))
        for gold in replay.gold:
            wanted = set(flat(gold.call["arguments"]))
            is_golds = gold.is_write and gold.call["tool"] == later.call["tool"]
            if later.answer["error"] and is_golds and own & given & wanted:
                return written_call(later.call)
    return ""


def _unspoken(replay: Replay, sayings: Sayings, own: Done, before: int) -> frozenset[str]:
    """Return words of what a write touches besides, where nobody spoke of it or of the whole."""
    if has_any(_user_text(replay, before), "wholes"):
        return frozenset()
    given = flat(own.call["arguments"])
    names = frozenset().union(*(sayings.names_in(value) for value in given))
    return names - sayings.of_user(before) - sayings.of_agent(before)


def _by_words(
    sayings: Sayings,
    own: Done,
    *,
    chosen: frozenset[str],
    wanted: frozenset[str],
) -> Cause:
    """Return who is to blame for a value.

    Args:
        sayings: who said what.
        own: the agent's write.
        chosen: words of what it did, less those of what is right.
        wanted: words of what is right, less those of what it did.
    """
    assert own.traced is not None
    before = own.traced.message
    user, told = sayings.of_user(before), sayings.scenario
    asked_chosen, asked_wanted = user & chosen, user & wanted
    if asked_wanted and not asked_chosen:
        return Cause.policy(own.turn, STRONG, f"the user asked for {some(asked_wanted)}")
    if asked_chosen and not asked_wanted:
        first_user = sayings.first_user(asked_chosen, before)
        first_agent = sayings.first_agent(asked_chosen, before)
        is_agents = first_agent is not None and first_user is not None and first_agent < first_user
        if is_agents and not sayings.of_agent(first_user) & wanted:
            why = f"the agent named {some(asked_chosen)} first, and the user agreed"
            return Cause.policy(own.turn, LIKELY, why)
        if told & asked_chosen and not told & wanted:
            why = f"the user was told to want {some(told & asked_chosen)}, and said so"
            return Cause.policy(own.turn, WEAK, why)
        why = f"asked for {some(asked_chosen)}" + (
            f", and was told to want {some(told & wanted)}"
            if told & wanted
            else ", which nothing told it"
        )
        return Cause.user(own.turn, LIKELY, why)
    if asked_chosen and asked_wanted:
        why = f"the user spoke of {some(asked_chosen)} and of {some(asked_wanted)}"
        return Cause.policy(own.turn, LIKELY if asked_wanted - told == frozenset() else WEAK, why)
    if told & wanted and not told & chosen:
        why = f"was told to want {some(told & wanted)}, and never said so"
        return Cause.user(own.turn, WEAK, why)
    return Cause.policy(own.turn, LIKELY, "the agent chose it; the user never spoke of it")


def flat(arguments: dict[str, Any], keys: Iterable[str] | None = None) -> list[str]:
    """Return the values of some arguments, or of all, as texts in lower case."""
    found: list[str] = []
    for key in arguments if keys is None else keys:
        value = arguments.get(key)
        found += map(str, value) if isinstance(value, list) else [str(value)]
    return [value.lower() for value in found]


def _user_text(replay: Replay, before: int) -> str:
    said = (m.text for m in replay.trace.messages[:before] if m.speaker is Speaker.USER)
    return "\n".join(said)


def call_words(sayings: Sayings, done: Done) -> frozenset[str]:
    """Return the words that stand for a call: of its tool, and of its values."""
    return word_set(done.call["tool"].replace("_", " ")) | sayings.of_value(
        list(done.call["arguments"].values())
    )


def some(found: frozenset[str]) -> str:
    """Return a few of some words, as they are told."""
    return ", ".join(f"'{word}'" for word in sorted(found)[:4])
