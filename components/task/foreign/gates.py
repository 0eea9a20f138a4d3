"""The gates that any benchmark's tasks pass, and what each needs to apply.

A gate plays calls and asks the benchmark's own evaluator; none has an opinion of its own on what
is right. Texts are read in `values.py`, policies in `policy.py`.
"""

from __future__ import annotations

import itertools
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jsonschema_rs

from components.task.foreign.findings import Finding, Found, Kind
from components.task.foreign.policy import broken_rules
from components.task.foreign.values import fields, said, unsaid, unsaid_wordings
from components.task.foreign.words import words
from components.task.foreign.worker import Call, Foreign, ForeignTask, Played, Turns

TRIES = 3
"""Other values that are accepted and judged, for one argument."""
MOST_TRIES = 8
"""Other values or writes tried until so many are accepted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """What the golds of a benchmark hold, for gates that need other values."""

    values: Mapping[str, Sequence[Any]]
    """Values by argument."""
    writes: Sequence[Call]
    """Writes of any gold."""


def pooled(tasks: Sequence[ForeignTask]) -> Pool:
    """Return the values and writes of all golds."""
    values: dict[str, dict[str, Any]] = defaultdict(dict)
    writes: dict[str, Call] = {}
    for task in tasks:
        for call in task.calls:
            for key, value in call["arguments"].items():
                values[key].setdefault(json.dumps(value, sort_keys=True), value)
            if not task.tools.get(call["tool"], {}).get("reads", False):
                writes.setdefault(json.dumps(call, sort_keys=True), call)
    return Pool(
        values={key: list(found.values()) for key, found in values.items()},
        writes=list(writes.values()),
    )


def not_applied(tasks: Sequence[ForeignTask]) -> dict[str, str]:
    """Return, for gates that apply to no task or not to all, why."""
    found: dict[str, str] = {}
    if not any(task.words for task in tasks):
        why = "no task scores words of a message"
        found |= {Kind.ECHO_PASSES.value: why, Kind.WORD_TOO_SHORT.value: why}
    if not any(task.unscored_words for task in tasks):
        found[Kind.WORDS_UNSCORED.value] = "no task lists words that its scoring leaves out"
    if not any(hidden for task in tasks for hidden in task.hidden):
        why = "no tool is withheld"
        found |= {Kind.GOLD_WITHHELD.value: why, Kind.WITHHELD_UNNEEDED.value: why}
    if not any(task.policy for task in tasks):
        found[Kind.BREAKS_POLICY.value] = "no policy is stated"
    if judged := sum(bool(task.judged) for task in tasks):
        why = f"not decided for {judged} tasks: a model judges sentences there"
        found[Kind.NOTHING_PASSES.value] = why
    if blind := sum(not task.state_checked for task in tasks):
        writes = (Kind.WRITE_UNNEEDED, Kind.VALUE_UNCHECKED, Kind.MORE_PASSES, Kind.ORDER_MATTERS)
        found |= {kind.value: f"{blind} tasks do not score the state" for kind in writes}
    return found


def audit(foreign: Foreign, task: ForeignTask, pool: Pool) -> list[Finding]:
    """Pass one task through every gate."""
    found = Found(task)
    gold = foreign.run(task.name, task.gold, task.message)
    _gold(foreign, task, gold, found)
    for sentence, at in broken_rules(task.policy, task.calls, gold.flat):
        found.add(Kind.BREAKS_POLICY, f"call {at + 1}: {sentence}", task.gold, task.message, gold)
    for call, key, value in unsaid(foreign, task, gold):
        why = f"{call['tool']}: {key}={value!r} stands nowhere that an agent could see"
        found.add(Kind.VALUE_UNSAID, why, task.gold, task.message, gold)
    if gold.passes:
        _idle(foreign, task, gold, found)
        if task.state_checked:
            _writes(foreign, task, gold, pool, found)
            _more(foreign, task, gold, pool, found)
            _swapped(foreign, task, gold, found)
            _wordings(foreign, task, gold, found)
    return found.items


def _gold(foreign: Foreign, task: ForeignTask, gold: Played, found: Found) -> None:
    if gold.passes is False:
        found.add(Kind.GOLD_FAILS, gold.why, task.gold, task.message, gold)
    again = foreign.run(task.name, task.gold, task.message)
    texts = [[answer["text"] for answer in played.flat] for played in (gold, again)]
    if again.state != gold.state or texts[0] != texts[1]:
        found.add(Kind.GOLD_UNSTABLE, "two runs differ", task.gold, task.message, gold)
    for at, (call, answer) in enumerate(zip(task.calls, gold.flat, strict=True)):
        tool = task.tools.get(call["tool"])
        reads = bool(tool and tool.get("reads"))
        values = [value for _, value in fields(call["arguments"])]
        meant = reads and any(said(value, "\n".join(task.texts)) for value in values)
        if answer["error"] and not meant:
            why = f"call {at + 1}, {call['tool']}: {answer['text'][:160]}"
            found.add(Kind.GOLD_RAISES, why, task.gold, task.message, gold)
        problem = _misfit(call, tool)
        if problem:
            why = f"call {at + 1}, {call['tool']}: {problem}"
            found.add(Kind.GOLD_UNFIT, why, task.gold, task.message, gold)
    for turn, (calls, hidden) in enumerate(zip(task.gold, task.hidden, strict=True)):
        for call in calls:
            if call["tool"] in hidden:
                why = f"turn {turn + 1}: {call['tool']} is withheld there"
                found.add(Kind.GOLD_WITHHELD, why, task.gold, task.message, gold)
    if any(task.hidden):
        _empty_turns(foreign, task, found)


def _empty_turns(foreign: Foreign, task: ForeignTask, found: Found) -> None:
    """Check that a turn which gold leaves empty lacks a tool that gold needs one turn later."""
    for turn, (calls, after) in enumerate(itertools.pairwise(task.gold)):
        back = set(task.hidden[turn]) - set(task.hidden[turn + 1])
        if calls or not after or task.texts[turn + 1].strip():
            continue
        if not back & {call["tool"] for call in after}:
            early = _with(_with(task.gold, turn, after), turn + 1, [])
            played = foreign.run(task.name, early, task.message)
            names = f"{', '.join(sorted(back))}, which come back" if back else "nothing comes back"
            why = f"turn {turn + 1}: gold answers it later with {after[0]['tool']}, without {names}"
            found.add(Kind.WITHHELD_UNNEEDED, why, early, task.message, played)


def _misfit(call: Call, tool: dict[str, Any] | None) -> str:
    if tool is None:
        return "there is no such tool"
    if call.get("text") and not call["arguments"] and tool.get("required"):
        return ""  # a call that is no plain one keeps its text alone
    kept: dict[str, Any] = {
        k: tool[k] for k in ("type", "properties", "required", "$defs") if k in tool
    }
    try:
        errors = list(jsonschema_rs.validator_for(kept).iter_errors(call["arguments"]))
    except ValueError:
        return ""
    return errors[0].message if errors else ""


def _idle(foreign: Foreign, task: ForeignTask, gold: Played, found: Found) -> None:
    wrote = [c["tool"] for c, a in zip(task.calls, gold.flat, strict=True) if a.get("wrote")]
    if task.judged:
        return
    nothing: Turns = [[] for _ in task.gold]
    idle = foreign.run(task.name, nothing, "")
    if idle.passes:
        what = f"{', '.join(wrote)} of gold leaves all as it was" if wrote else "gold has no write"
        stated = f"; stated, not scored: {task.unscored[0]}" if task.unscored else ""
        why = f"{what}, and nothing else is scored{stated}"
        kind = Kind.REFUSAL_PASSES if _only_refuses(task, wrote) else Kind.NOTHING_PASSES
        found.add(kind, why, nothing, "", idle)
    elif task.words:
        echo = "\n".join(task.texts)
        if (heard := foreign.run(task.name, nothing, echo)).passes:
            found.add(Kind.ECHO_PASSES, "the words are the user's own", nothing, echo, heard)
    if task.unscored_words:
        silent = foreign.run(task.name, task.gold, "")
        if silent.passes:
            why = f"not scored: {', '.join(task.unscored_words)}"
            found.add(Kind.WORDS_UNSCORED, why, task.gold, "", silent)
    for word in task.words:
        other = _other_token(word, [answer["text"] for answer in gold.flat])
        rest = [text for text in task.words if text != word]
        message = "\n".join([*rest, f"It is {other}."])
        if other and (loose := foreign.run(task.name, task.gold, message)).passes:
            why = f"'{word}' is found in '{other}', which gold sees and which says something else"
            found.add(Kind.WORD_TOO_SHORT, why, task.gold, message, loose)


def _only_refuses(task: ForeignTask, wrote: Sequence[str]) -> bool:
    """Return whether the agent is asked for nothing but to leave all as it is: gold only looks, and
    what is stated for whoever judges says what must not be done.
    """
    looks = all(call["tool"].partition("_")[0].lower() in words().looking for call in task.calls)
    refusing = words().refusing
    return (
        not wrote
        and looks
        and not task.unscored_words
        and bool(task.unscored)
        and all(refusing.search(sentence.lower()) for sentence in task.unscored)
    )


def _other_token(word: str, texts: Sequence[str]) -> str:
    """Return a longer word of the texts that holds a short one."""
    if len(word) > 3:
        return ""
    for token in re.findall(r"[\w.#-]+", "\n".join(texts)):
        if word.lower() in token.lower() and token.strip("#.-").lower() != word.lower():
            return str(token)
    return ""


def _at(turns: Turns) -> Iterator[tuple[int, int, int]]:
    """Yield place, turn and position of every call."""
    place = 0
    for turn, calls in enumerate(turns):
        for position in range(len(calls)):
            yield place, turn, position
            place += 1


def _with(turns: Turns, turn: int, calls: list[Call]) -> Turns:
    return [calls if at == turn else old for at, old in enumerate(turns)]


def _writes(foreign: Foreign, task: ForeignTask, gold: Played, pool: Pool, found: Found) -> None:
    for place, turn, position in _at(task.gold):
        if not gold.flat[place].get("wrote"):
            continue
        calls = task.gold[turn]
        less = _with(task.gold, turn, calls[:position] + calls[position + 1 :])
        if not (played := foreign.run(task.name, less, task.message)).passes:
            _values(foreign, task, pool, found, (place, turn, position))
            continue
        until = [*task.gold[:turn], calls[:position], *([] for _ in task.gold[turn + 1 :])]
        before = foreign.run(task.name, until, "").state
        after = foreign.run(task.name, _with(until, turn, calls[: position + 1]), "").state
        if before == after and task.calls[place]["tool"] in task.tools and gold.changed:
            why = f"call {place + 1}, {calls[position]['tool']}, finds all as it would leave it"
            found.add(Kind.WRITE_UNNEEDED, why, less, task.message, played)


def _values(
    foreign: Foreign, task: ForeignTask, pool: Pool, found: Found, at: tuple[int, int, int]
) -> None:
    """Try other values in one write, an argument at a time."""
    place, turn, position = at
    call = task.gold[turn][position]
    free: list[tuple[str, Turns, Played]] = []
    for key, value in call["arguments"].items():
        others = [o for o in pool.values.get(key, ()) if type(o) is type(value) and o != value]
        tried = 0
        for other in others[:MOST_TRIES]:
            if tried >= TRIES:
                break
            changed = {k: v for k, v in call.items() if k != "text"}
            changed["arguments"] = {**call["arguments"], key: other}
            calls = list(task.gold[turn])
            calls[position] = changed
            turns = _with(task.gold, turn, calls)
            played = foreign.run(task.name, turns, task.message)
            if played.flat[place]["error"]:
                continue
            tried += 1
            if played.passes:
                free.append((f"{key}={other!r} for {value!r}", turns, played))
                break
    if free:
        names = f" ({len(free)} arguments are so)" if len(free) > 1 else ""
        why = f"call {place + 1}, {call['tool']}: {free[0][0]}{names}"
        argument = f"{call['tool']}.{free[0][0].partition('=')[0]}"
        found.add(Kind.VALUE_UNCHECKED, why, free[0][1], task.message, free[0][2], argument)


def _more(foreign: Foreign, task: ForeignTask, gold: Played, pool: Pool, found: Found) -> None:
    mine = {str(value) for call in task.calls for _, value in fields(call["arguments"])}
    others = [
        call
        for call in pool.writes
        if call["tool"] in task.tools
        and not mine & {str(value) for _, value in fields(call["arguments"])}
    ]
    for call in others[:MOST_TRIES]:
        turn = max((at for at, calls in enumerate(task.gold) if calls), default=0)
        turns = _with(task.gold, turn, [*task.gold[turn], call])
        played = foreign.run(task.name, turns, task.message)
        if played.flat[-1]["error"] or played.state == gold.state:
            continue
        if played.passes:
            why = f"{call['tool']} besides, which nothing asks for"
            found.add(Kind.MORE_PASSES, why, turns, task.message, played)
        return


def _swapped(foreign: Foreign, task: ForeignTask, gold: Played, found: Found) -> None:
    """Turn round two writes of one turn that are answered alike whichever comes first."""
    wrote = [answer.get("wrote", False) for answer in gold.flat]
    for place, turn, position in _at(task.gold):
        calls = task.gold[turn]
        later = next((p for p in range(position + 1, len(calls)) if wrote[place + p - position]), 0)
        if not wrote[place] or not later:
            continue
        order = [*calls[:position], calls[later], *calls[position + 1 : later], calls[position]]
        turns = _with(task.gold, turn, [*order, *calls[later + 1 :]])
        played = foreign.run(task.name, turns, task.message)
        names = [name.rpartition("/")[2] for name in gold.changed]
        alike = _masked(played, names) == _masked(gold, names)
        if played.passes is False and alike:
            why = f"calls {place + 1} and {place + later - position + 1}, either first, do the same"
            found.add(Kind.ORDER_MATTERS, why, turns, task.message, played)


def _wordings(foreign: Foreign, task: ForeignTask, gold: Played, found: Found) -> None:
    """Take the full stop off a text that nothing says in these words, or put one there."""
    for turn, position, key, value in unsaid_wordings(task, gold):
        other = value[:-1] if value.endswith((".", "!")) else f"{value}."
        calls = list(task.gold[turn])
        changed = {k: v for k, v in calls[position].items() if k != "text"}
        changed["arguments"] = {**changed["arguments"], key: other}
        calls[position] = changed
        turns = _with(task.gold, turn, calls)
        played = foreign.run(task.name, turns, task.message)
        if played.passes is False:
            why = f"turn {turn + 1}, {changed['tool']}: {key} must be {value!r} to the full stop"
            found.add(Kind.WORDING_UNSAID, why, turns, task.message, played)


def _masked(played: Played, names: Sequence[str]) -> list[str]:
    """Return the answers in no order, without the names of what was changed or made."""
    texts = [answer["text"] for answer in played.flat]
    for name in names:
        texts = [text.replace(name, "*") for text in texts]
    return sorted(texts)
