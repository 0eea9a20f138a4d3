"""A request said bit by bit: the first message, and the moves of the user that follow it.

Owns what is held back, put right and given up again. A value is put right, or given at last, before
it can be used: what it is for waits until then. What is given up is a call of a restraint, which
was announced for later. Only words are added: gold is the walk's, as in a request said at once.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from components.records.frozen import FrozenDict
from components.records.user import Move, MoveKind, UserScript
from components.task.clauses import Forbidden
from components.task.filling import Argument
from components.task.ground import Ground
from components.task.moments import TIMES, date_words, moment_on, shifted
from components.task.order import is_before
from components.task.phrases import phrases, slot_name, words
from components.task.pronouns import mine
from components.task.request import Request, as_step, branch
from components.task.spans import Mark, Pieces, Span, Tag, fill
from components.task.steps import Walk, WalkStep
from components.task.user import WORDS

_HELD = 0.5
"""Share of the choices that are held back, not given wrongly, where either can be done."""
_ANSWER = "answer"
_LEAST_WORD = 4
"""Letters of a word that a move can be asked for by, at least."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Slip:
    """A value that the first mention gives wrongly, or holds back."""

    step: str
    item: Argument
    was: Any
    """The wrong value; None: held back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Message:
    """One message of the user in the making."""

    kind: MoveKind
    pieces: Pieces
    about: tuple[str, ...] = ()
    is_free: bool = False
    """Whether it may come as soon as the first message was said."""


class Dialogue(Request):
    """Writes the messages of one walk's user."""

    def __init__(
        self, ground: Ground, walk: Walk, rng: random.Random, *, speaks: bool = True
    ) -> None:
        """Args: as of a request that is said at once; rng for every choice."""
        super().__init__(ground, walk, rng, speaks=speaks)
        self._slip = self._drawn_slip()
        self._messages: list[_Message] = []

    def request(self) -> Pieces:
        """Return all messages in a row, each but the first marked as a move."""
        self._messages = [replace(item, pieces=mine(item.pieces)) for item in self._made()]
        pieces: list[str | Mark] = [Mark(("opening",), self._messages[0].pieces)]
        for number, message in enumerate(self._messages[1:], 1):
            pieces += [" ", Mark(("move", _name(number)), message.pieces)]
        return pieces

    def script(self, spans: dict[Tag, Span]) -> UserScript:
        """Return the user's moves, once `request` was read as one text with these spans."""
        moves = {}
        for number, message in enumerate(self._messages[1:], 1):
            span, was = spans["move", _name(number)], None
            if message.kind is MoveKind.CORRECT:
                was = spans["was",]
            bound = [
                _name(earlier)
                for earlier in range(1, number)
                if not (message.is_free or self._messages[earlier].is_free)
            ]
            moves[_name(number)] = Move(
                kind=message.kind,
                start=span.start,
                end=span.end,
                after=tuple(bound[-1:]),
                about=message.about,
                was_start=None if was is None else was.start,
                was_end=None if was is None else was.end,
            )
        return UserScript(
            opening=spans["opening",].end,
            moves=FrozenDict(moves),
            closing=self._choice("user_closing"),
        )

    def rules(self) -> tuple[str, ...]:
        """Return what the policy is told of the user."""
        return tuple(phrases().stock("user_rules"))

    def _made(self) -> Iterator[_Message]:
        """Yield the messages: the sentences of the writes, what was put off, the answer."""
        given_up, self._open = tuple(self._open), []
        opening = self._opening()
        # Sentences are made one by one: what is named in full is what is named first.
        for number, (step, sentence) in enumerate(self._sentences()):
            pieces = [*opening, *sentence] if number == 0 else list(sentence)
            slip = self._slip if self._slip is not None and self._slip.step == step else None
            if slip is not None:
                kind = "user_ask" if slip.was is None else "user_wait"
                pieces += [" ", self._choice(kind)]
            if number == 0 and self._asks_before:
                pieces += [" ", *self._report()]
            if number == 0:
                for forbidden in given_up:
                    pieces += [" ", *self._later(forbidden)]
            yield _Message(kind=MoveKind.REVEAL, pieces=pieces)
            if slip is not None:
                yield self._put_right(slip)
        for forbidden in given_up:
            said = fill(
                self._choice("user_change"), {"words": self._forbidding(forbidden, is_it=False)}
            )
            yield _Message(
                kind=MoveKind.CHANGE_MIND,
                pieces=said,
                about=_about(forbidden.shape.name.partition("_")[0]),
                is_free=True,
            )

    def _sentences(self) -> Iterator[tuple[str, Pieces]]:
        group = self._clauses.group
        for step in self._walk.steps:
            if not step.shape.is_write or (group is not None and step.name in group.steps[1:]):
                continue
            condition = self._clauses.of_step(step.name)
            if condition is None:
                yield step.name, self._plain([], step)
            else:
                yield step.name, self._conditional(condition, step)
        for condition in self._clauses.conditions:
            if not condition.step:
                yield condition.name, self._conditional(condition, None)
        if (self._walk.answer or self._clauses.counted) and not self._asks_before:
            yield _ANSWER, self._report()

    @property
    def _asks_before(self) -> bool:
        """Whether the answer wants a value as it was: that has to be known before all is done."""
        return any(is_before(name) for name in self._walk.answer)

    def _report(self) -> Pieces:
        sentence = fill(self._choice("answers"), {"values": self._asked()})
        return [Mark(("demand", _ANSWER), sentence)]

    def _later(self, forbidden: Forbidden) -> Pieces:
        sentence = branch(self._sentence(as_step(forbidden)))
        return fill(self._choice("user_later"), {"words": sentence})

    def _put_right(self, slip: _Slip) -> _Message:
        item = slip.item
        value = Mark(
            ("literal", slip.step, item.parameter.pointer), [item.words or str(item.value)]
        )
        noun = words(slot_name(slip.item.parameter.pointer))
        is_held = slip.was is None
        template = self._choice("user_detail" if is_held else "user_correct")
        said = fill(template.replace("{noun}", noun), {"was": [str(slip.was)], "value": [value]})
        return _Message(
            kind=MoveKind.REVEAL if is_held else MoveKind.CORRECT,
            pieces=[Mark(("demand", slip.step, "right"), said)],
            about=_about(noun),
        )

    def _literal(self, step: WalkStep, item: Argument) -> Mark:
        slip = self._slip
        if slip is None or (step.name, item) != (slip.step, slip.item):
            return super()._literal(step, item)
        if slip.was is None:
            return Mark(("held",), [self._choice("user_held")])
        return Mark(("was",), [str(slip.was)])

    def _drawn_slip(self) -> _Slip | None:
        """Draw a choice, a time or a number of a write that is alone in its sentence."""
        group = self._walk.clauses.group
        found = [
            (step.name, item)
            for step in self._walk.steps
            for item in step.arguments
            if step.shape.is_write
            and item.source is None
            and not item.parameter.names_row
            and self._walk.clauses.of_step(step.name) is None
            and (group is None or step.name not in group.steps)
        ]
        self._rng.shuffle(found)
        for name, item in found:
            choices = [
                choice
                for choice in item.parameter.schema.get("enum") or ()
                if choice != item.value and isinstance(choice, str)
            ]
            if choices and isinstance(item.value, str):
                is_held = self._rng.random() < _HELD
                was = None if is_held else self._rng.choice(choices)
                return _Slip(step=name, item=item, was=was)
            if TIMES.fullmatch(str(item.value)):
                other = shifted(str(item.value), self._rng.choice((1, 2, 7)))
                said = date_words(other) if item.words else other
                if said and (not item.words or moment_on(item.words) is not None):
                    return _Slip(step=name, item=item, was=said)
            elif type(item.value) is int and item.value > 1:
                return _Slip(step=name, item=item, was=item.value + self._rng.choice((1, 5, 10)))
        return None


def _about(text: str) -> tuple[str, ...]:
    """Return the words by which a move can be asked for."""
    return tuple(
        dict.fromkeys(item for item in WORDS.findall(text.lower()) if len(item) >= _LEAST_WORD)
    )


def _name(number: int) -> str:
    return f"m{number:02d}"
