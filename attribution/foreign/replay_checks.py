"""Facts of a trace that was played again: for each edit that the task needs, who caused it.

The edits are proven by the benchmark's evaluator; whose fault one is, the words that were said tell
(`attribution.foreign.causes`), and the sentences of the stated policy.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping

from attribution.foreign.answers import short
from attribution.foreign.causes import Cause, call_words, extra_cause, flat, some, value_cause
from attribution.foreign.edits import Edit, EditKind
from attribution.foreign.facts import LIKELY, STRONG, USER_SIMULATOR, WEAK, Fact, fact, num_turns
from attribution.foreign.names import written_call
from attribution.foreign.records import Speaker
from attribution.foreign.replay import Done, Replay
from attribution.foreign.sayings import Sayings, is_number, word_set
from attribution.foreign.words import has_any, words
from attribution.records import EvidenceKind, Party
from components.task.foreign.policy import broken_rules


def edit_facts(replay: Replay, edits: tuple[Edit, ...]) -> Iterator[Fact]:
    """Yield a fact for each needed edit.

    Args:
        replay: the trace and its gold, played.
        edits: what has to be otherwise for the task to pass.
    """
    sayings = Sayings(replay)
    calls = [done.call for done in replay.done]
    answers = [done.answer for done in replay.done]
    broken = {at: sentence for sentence, at in broken_rules(replay.task.policy, calls, answers)}
    is_alone = all(edit.kind is EditKind.SAID for edit in edits)
    for edit in edits:
        cause, what = _cause(replay, sayings, edit, broken)
        if cause.place == USER_SIMULATOR and sayings.is_verbatim:
            cause = Cause.policy(cause.turn, WEAK, "the user said its text and no more")
        # What is to be said often follows from what was done: a price, a sum.
        follows = edit.kind is EditKind.SAID and not is_alone
        yield fact(
            replay.trace,
            cause.party,
            cause.place,
            f"{what}; {cause.why}",
            edit.kind.value,
            turn=cause.turn,
            confidence=min(cause.sure, WEAK) if follows else cause.sure,
            traced=replay.done[edit.position].traced if edit.position >= 0 else None,
            kind=EvidenceKind.PLAYED,
        )


def _cause(
    replay: Replay, sayings: Sayings, edit: Edit, broken: Mapping[int, str]
) -> tuple[Cause, str]:
    """Return who caused what an edit mends, and what that is in words."""
    match edit.kind:
        case EditKind.PUT_IN:
            gold = replay.gold[edit.gold]
            what = f"{written_call(gold.call)} was not done: with it the task passes"
            return _missing_cause(replay, sayings, gold), what
        case EditKind.SAID:
            what = f"'{short(edit.word)}' was never said, and the task wants it said"
            return _unsaid_cause(replay, sayings, edit.word), what
    own = replay.done[edit.position]
    should = "should not be done"
    if edit.kind is EditKind.OTHER_VALUES:
        wanted = replay.gold[edit.gold].call["arguments"]
        listed = ", ".join(f"{key}={wanted.get(key)!r}" for key in edit.keys)
        should = f"should have {short(listed)}"
    what = f"{written_call(own.call)} {should}: then the task passes"
    if edit.position in broken:
        why = f"it breaks the policy: {broken[edit.position]}"
        return Cause.policy(own.turn, STRONG, why), what
    if edit.kind is EditKind.TAKEN_OUT:
        return extra_cause(replay, sayings, edit), what
    return value_cause(replay, sayings, edit), what


def _missing_cause(replay: Replay, sayings: Sayings, gold: Done) -> Cause:
    """Return why a write of gold was never done."""
    last = max(num_turns(replay.trace) - 1, 0)
    demand = {w for w in call_words(sayings, gold) & sayings.scenario if not is_number(w)}
    done = [item for item in replay.gold if item.is_write and item is not gold]
    others = frozenset().union(*(call_words(sayings, item) for item in done))
    own = frozenset(demand - others or demand)
    said = own & sayings.of_user()
    if own and not said:
        return Cause.user(last, LIKELY, f"was told to want {some(own)}, and never said so")
    refused = next((item for item in replay.done if _is_refused(item, gold)), None)
    if refused is not None:
        why = f"{written_call(refused.call)} was refused instead"
        return Cause.policy(refused.turn, LIKELY, why)
    withheld = _withheld(replay)
    if withheld:
        return Cause.user(last, LIKELY, f"was told '{withheld}', and never said so")
    handed = _handed_over(replay)
    if handed is not None:
        return handed
    if _declined(replay, gold):
        return Cause.user(last, LIKELY, "said no to it when the agent proposed it")
    if _left_open(replay, gold):
        return Cause.user(last, LIKELY, "left while the agent asked it to confirm")
    heard, sentence = sayings.last_sentence(said)
    if heard is None:
        return Cause.policy(last, WEAK, "the agent ended without it")
    turn = sayings.turn_after(heard)
    if has_any(f" {sentence} ", "takes_back"):
        before = [m.text for m in replay.trace.messages[:heard] if m.speaker is Speaker.AGENT]
        if not any(has_any(text, "cannot") for text in (*before[-1:], sentence)):
            return Cause.user(turn, LIKELY, f"took it back: '{short(sentence)}'")
    return Cause.policy(turn, LIKELY, f"the user asked for {some(said)}")


def _withheld(replay: Replay) -> str:
    """Return an id that gold looks up, that the user was told and never said; else empty."""
    told = "\n".join(replay.task.texts).lower()
    heard = "\n".join(m.text for m in replay.trace.messages if m.speaker is Speaker.USER).lower()
    for done in replay.gold:
        for value in done.call["arguments"].values():
            text = str(value).lower()
            is_id = any(c.isdigit() for c in text) or "@" in text
            if is_id and text in told and text not in heard and not done.is_write:
                return text
    return ""


def _handed_over(replay: Replay) -> Cause | None:
    """Return whose doing it was that the agent handed the user over; None: it did not."""
    handed = next((d for d in replay.done if has_any(d.call["tool"], "hands_over")), None)
    if handed is None or any(d.call["tool"] == handed.call["tool"] for d in replay.gold):
        return None
    assert handed.traced is not None
    before = replay.trace.messages[: handed.traced.message]
    said = [m.text for m in before if m.speaker is Speaker.USER]
    if said and has_any(said[-1], "hands_over"):
        return Cause.user(handed.turn, WEAK, "asked to be handed over")
    return Cause.policy(handed.turn, LIKELY, "the agent handed the user over instead")


def _declined(replay: Replay, gold: Done) -> bool:
    """Return whether the user said no when the agent proposed what is missing."""
    ids = {value for value in flat(gold.call["arguments"]) if any(c.isdigit() for c in value)}
    talk = [m for m in replay.trace.messages if m.text and m.speaker is not Speaker.SYSTEM]
    answers = [
        after.text
        for before, after in itertools.pairwise(talk)
        if before.speaker is Speaker.AGENT
        and after.speaker is Speaker.USER
        and any(value in before.text.lower() for value in ids)
    ]
    return any(has_any(f" {text} ", "declines") for text in answers)


def _is_refused(item: Done, gold: Done) -> bool:
    return bool(item.answer["error"]) and item.call["tool"] == gold.call["tool"]


def _left_open(replay: Replay, gold: Done) -> bool:
    """Return whether the agent's last words ask about what is missing, and got no answer."""
    texts = [m for m in replay.trace.messages if m.text and m.speaker is not Speaker.SYSTEM]
    agents = [m.text for m in texts if m.speaker is Speaker.AGENT]
    if not agents or not ("?" in agents[-1] or has_any(agents[-1], "confirms")):
        return False
    ids = {str(v) for v in gold.call["arguments"].values() if isinstance(v, str)}
    return any(value in agents[-1] for value in ids)


def _unsaid_cause(replay: Replay, sayings: Sayings, word: str) -> Cause:
    """Return why something that must be said was not."""
    last = max(num_turns(replay.trace) - 1, 0)
    names = words("number_words")
    said_words = re.findall(r"[a-z]+", replay.message.lower())
    if word.isdigit() and int(word) < len(names) and names[int(word)] in said_words:
        why = f"the agent wrote it out as '{names[int(word)]}'"
        return Cause(Party.EVALUATOR, "evaluator#/communicate", LIKELY, why, last)
    handed = _handed_over(replay)
    if handed is not None:
        return handed
    asked = _questions(replay)
    said = asked & sayings.of_user()
    if asked and len(said) * 4 < len(asked):
        return Cause.user(last, LIKELY, f"never asked about {some(asked - said)}")
    heard = sayings.last_user(said)
    if heard is None:
        return Cause.policy(last, WEAK, "nothing tells whether it was asked")
    return Cause.policy(sayings.turn_after(heard), LIKELY, f"the user asked about {some(said)}")


def _questions(replay: Replay) -> frozenset[str]:
    """Return the words of what the user is told to ask."""
    sentences = "\n".join(replay.task.texts).replace("\n", ". ").split(". ")
    asking = [text for text in sentences if has_any(text, "question_words")]
    return frozenset().union(*map(word_set, asking))
