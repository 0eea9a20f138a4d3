"""What would have to be otherwise in the agent's writes for the task to pass, found by playing.

Writes of the agent are held against those of gold: one that gold has not is taken out, one of gold
that the agent has not is put in, one on the same record with other values gets gold's. An edit that
the benchmark's evaluator does not need is dropped: what is left, played, flips the outcome.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from attribution.foreign.replay import Done, Replay
from components.task.foreign.worker import Call


class EditKind(Enum):
    """What an edit does to the agent's calls."""

    OTHER_VALUES = "other_values"
    TAKEN_OUT = "taken_out"
    PUT_IN = "put_in"
    SAID = "said"


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """One change to the agent's calls, or to what it says."""

    kind: EditKind
    position: int = -1
    """Which call of the agent it is of; -1: none."""
    gold: int = -1
    """Which call of gold it takes; -1: none."""
    keys: tuple[str, ...] = ()
    """Arguments that differ."""
    word: str = ""
    """What must be said."""


def needed_edits(replay: Replay) -> tuple[Edit, ...]:
    """Return the fewest edits by which a failed trace passes; empty: none are known."""
    edits = _differences(replay)
    said = [Edit(kind=EditKind.SAID, word=word) for word in _unsaid(replay)]
    edits = [*edits, *said]
    if not _passes(replay, edits):
        return ()
    for edit in list(edits):
        fewer = [item for item in edits if item is not edit]
        if _passes(replay, fewer):
            edits = fewer
    return tuple(edits)


def _unsaid(replay: Replay) -> list[str]:
    said = replay.message.lower().replace(",", "")
    return [word for word in replay.task.words if word.lower().replace(",", "") not in said]


def _differences(replay: Replay) -> list[Edit]:
    own = [at for at, done in enumerate(replay.done) if done.is_write]
    wanted = [at for at, done in enumerate(replay.gold) if done.is_write]
    for at in list(own):
        same = next((g for g in wanted if _same(replay.done[at], replay.gold[g])), None)
        if same is not None:
            own.remove(at)
            wanted.remove(same)
    found = []
    pairs = [
        (shared, at, g)
        for at in own
        for g in wanted
        if (shared := _shared(replay.done[at].call, replay.gold[g].call)) > 0
        or _is_only_pair(replay, own, wanted, at, g)
    ]
    for _, at, g in sorted(pairs, key=lambda item: (-item[0], item[1], item[2])):
        if at in own and g in wanted:
            own.remove(at)
            wanted.remove(g)
            keys = _keys(replay.done[at].call["arguments"], replay.gold[g].call["arguments"])
            found.append(Edit(kind=EditKind.OTHER_VALUES, position=at, gold=g, keys=keys))
    found += [Edit(kind=EditKind.TAKEN_OUT, position=at) for at in own]
    found += [Edit(kind=EditKind.PUT_IN, gold=g) for g in wanted]
    return found


def _is_only_pair(
    replay: Replay, own: Sequence[int], wanted: Sequence[int], at: int, g: int
) -> bool:
    """Return whether two calls are of one tool, and no others that are left are."""
    tool = replay.done[at].call["tool"]
    mine = [item for item in own if replay.done[item].call["tool"] == tool]
    golds = [item for item in wanted if replay.gold[item].call["tool"] == tool]
    return mine == [at] and golds == [g]


def edited(replay: Replay, edits: Sequence[Edit]) -> tuple[list[tuple[int, Call]], str]:
    """Return the agent's calls and message with edits made.

    Calls that were refused changed nothing; they are left out, lest an edit lets one of them in.
    """
    by_position = {edit.position: edit for edit in edits if edit.position >= 0}
    calls: list[tuple[int, Call]] = []
    for at, done in enumerate(replay.done):
        edit = by_position.get(at)
        if edit is None and not done.answer["error"]:
            calls.append((replay.slot(at), done.call))
        elif edit is not None and edit.kind is EditKind.OTHER_VALUES:
            calls.append((replay.slot(at), replay.gold[edit.gold].call))
    calls += [
        (replay.gold_slots[edit.gold], replay.gold[edit.gold].call)
        for edit in edits
        if edit.kind is EditKind.PUT_IN
    ]
    said = [edit.word for edit in edits if edit.kind is EditKind.SAID]
    return calls, "\n".join([replay.message, *said])


def _passes(replay: Replay, edits: Sequence[Edit]) -> bool:
    calls, message = edited(replay, edits)
    return replay.play(calls, message).passes is True


def _same(one: Done, other: Done) -> bool:
    return one.call["tool"] == other.call["tool"] and not _keys(
        one.call["arguments"], other.call["arguments"]
    )


def _shared(one: Call, other: Call) -> int:
    """Return how many arguments two calls of one tool have in common."""
    if one["tool"] != other["tool"]:
        return 0
    here, there = one["arguments"], other["arguments"]
    return sum(key in there and _plain(here[key]) == _plain(there[key]) for key in here)


def _keys(one: dict[str, Any], other: dict[str, Any]) -> tuple[str, ...]:
    return tuple(
        key for key in sorted({*one, *other}) if _plain(one.get(key)) != _plain(other.get(key))
    )


def _plain(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
