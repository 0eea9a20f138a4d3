"""What the user of a multi-turn task does: a script of moves, held in the task as a value."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from components.records.base import Record
from components.records.frozen import FrozenDict


class MoveKind(StrEnum):
    """What a move of the user is."""

    REVEAL = "reveal"
    """The next part of the request, or a value that was held back."""
    CORRECT = "correct"
    """Another value in the place of one that the user gave before by mistake."""
    CHANGE_MIND = "change_mind"
    """A later part, announced before, is no longer wanted."""


class Move(Record):
    """One message of the user after the first: the instruction's words at [start, end)."""

    kind: MoveKind
    start: int = Field(ge=0)
    end: int = Field(gt=0)
    after: tuple[str, ...] = ()
    """Moves that have to be made before this one."""
    about: tuple[str, ...] = ()
    """Words in small letters: a message of the policy that has one of them brings this move
    forward, once all of `after` are made."""
    was_start: int | None = Field(default=None, ge=0)
    """`correct`: where the instruction has the value that was given by mistake; else None."""
    was_end: int | None = Field(default=None, gt=0)


class UserScript(Record):
    """The user as a state machine: the state is the set of moves made, the input one message.

    The move made is the first in the order of names whose `after` are all made; one that the
    message asks about goes first.
    """

    opening: int = Field(gt=0)
    """The first message is the instruction's words at [0, opening)."""
    moves: FrozenDict[str, Move]
    """By name (`m01`, `m02`, ...), in the order of the instruction."""
    closing: str
    """What the user says when no move is left."""
