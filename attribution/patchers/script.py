"""The repair of a user's script: all of the instruction is said, each part once, in its order.

Moves that fit stay; what no move says becomes one. No move can be asked for out of turn then.
"""

from __future__ import annotations

import re
from typing import Any

from attribution.change import Operation
from components.records.user import MoveKind


def said_whole(body: dict[str, Any]) -> list[Operation]:
    """Return the operations that make the user of a task say its whole instruction; none where it
    has no user.

    Args:
        body: the task as JSON.
    """
    script, text = body.get("user"), body["instruction"]
    if script is None:
        return []
    opening = script["opening"]
    kept: list[dict[str, Any]] = []
    at = opening
    for move in sorted(script["moves"].values(), key=lambda item: item["start"]):
        if at <= move["start"] < move["end"] <= len(text):
            kept += _gap(text, at, move["start"])
            kept.append(move)
            at = move["end"]
    kept += _gap(text, at, len(text))
    names = [f"m{number:02d}" for number in range(1, len(kept) + 1)]
    moves = {
        name: {**move, "after": names[number - 1 : number] if number else []}
        for number, (name, move) in enumerate(zip(names, kept, strict=True))
    }
    return [("replace", "/user/moves", moves)]


def _gap(text: str, start: int, end: int) -> list[dict[str, Any]]:
    """Return the move that says what stands between two others; none where that is nothing."""
    words = re.search(r"\S(.*\S)?", text[start:end], re.DOTALL)
    if words is None:
        return []
    span = {"start": start + words.start(), "end": start + words.end()}
    return [{"kind": MoveKind.REVEAL.value, **span}]
