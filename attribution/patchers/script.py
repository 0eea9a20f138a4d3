"""The repair of a user's script: all of the instruction is said, each part once, in its order.

Moves that fit stay; a message that breaks off inside a sentence goes on to the next one; what no
move says becomes a move. No move can be asked for out of turn then.
"""

from __future__ import annotations

from typing import Any

from attribution.change import Operation
from components.records.user import MoveKind

_ENDS = (".", "?", "!")


def said_whole(body: dict[str, Any]) -> list[Operation]:
    """Return the operations that make the user of a task say its whole instruction; none where it
    has no user.

    Args:
        body: the task as JSON.
    """
    script, text = body.get("user"), body["instruction"]
    if script is None:
        return []
    messages: list[dict[str, Any]] = [{"start": 0, "end": min(script["opening"], len(text))}]
    for move in sorted(script["moves"].values(), key=lambda item: item["start"]):
        if messages[-1]["end"] <= move["start"] < move["end"] <= len(text):
            _fill(text, messages, move["start"])
            messages.append(dict(move))
    _fill(text, messages, len(text))
    opening, *moves = messages
    names = [f"m{number:02d}" for number in range(1, len(moves) + 1)]
    told = {
        name: {**move, "after": names[number - 1 : number] if number else []}
        for number, (name, move) in enumerate(zip(names, moves, strict=True))
    }
    return [("replace", "/user/opening", opening["end"]), ("replace", "/user/moves", told)]


def _fill(text: str, messages: list[dict[str, Any]], until: int) -> None:
    """Let the messages so far say what stands before `until`."""
    last = messages[-1]
    rest = text[last["end"] : until]
    if not rest.strip():
        return
    end = last["end"] + len(rest.rstrip())
    if text[last["start"] : last["end"]].rstrip().endswith(_ENDS):
        start = last["end"] + len(rest) - len(rest.lstrip())
        messages.append({"kind": MoveKind.REVEAL.value, "start": start, "end": end})
    else:
        last["end"] = end
