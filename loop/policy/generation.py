"""Turns sampled for many rollouts at once: each step feeds every context what is new of it, and a
few tokens that are guessed to follow (`loop.policy.guesses`).

A context belongs to one or several rollouts (seats): those that have seen and said the same. They
part when they draw different tokens; until then the model works once for all of them. A turn ends
with the end-of-turn token or at its limit, and nowhere else: to stop after a closed call would cut
off further calls of the same message, and no policy would learn to end a turn.

What a seat draws depends on its logits and on its own stream of numbers alone. The order of
everything is fixed by the seats' numbers, so that the same turns give the same bytes.
"""

from __future__ import annotations

import itertools
import random
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from loop.policy.draws import Draws
from loop.policy.guesses import Guesses
from loop.policy.segments import Fed, Segment, feed

_STEP_TOKENS = 1024
"""Most tokens of prompts that are fed in one step; bounds its memory."""
_NUM_GUESSED = 6
"""Most tokens that are guessed for a context in one step."""
_LEAST_RIGHT = 0.25
"""Share of guesses that must be right for more than one to be worth it."""
_FIRST_GUESSES = 200
"""Guesses of a batch before that share is looked at."""


@dataclass(slots=True)
class Turn:
    """One turn that a seat asks for, and what is sampled for it."""

    seat: int
    prompt_ids: tuple[int, ...]
    """The whole context, up to the begin of the reply."""
    num_shared: int
    """Tokens at its begin that other seats have as well: the system message."""
    draw: random.Random
    """Gives one number a token."""
    most: int
    """Tokens that the turn may have."""
    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    """Of each sampled token under the model, at temperature 1."""


@dataclass(slots=True)
class Counts:
    """What the steps so far took; see `Effort`."""

    sampled_tokens: int = 0
    decoded_tokens: int = 0
    guessed_tokens: int = 0
    accepted_tokens: int = 0
    prompt_tokens: int = 0
    prefilled_tokens: int = 0
    decode_seconds: float = 0.0
    prefill_seconds: float = 0.0


@dataclass(slots=True, eq=False)
class _Context:
    segment: Segment
    ids: list[int]
    """The whole context; the last ones are not fed yet."""
    turns: list[Turn]


class Generation:
    """Samples turns; lives as long as a batch. Used by one thread."""

    def __init__(self, model: Any, end_id: int, temperature: float) -> None:
        """Args: model: prepared for segments; end_id: ends a turn; temperature: 0 is greedy."""
        self.counts = Counts()
        self._model, self._end_id, self._temperature = model, end_id, temperature
        self._numbers = itertools.count()
        self._guesses = Guesses()
        self._shared: dict[tuple[int, ...], Segment] = {}
        self._asked: list[Turn] = []
        self._active: list[_Context] = []
        self._resting: dict[int, _Context] = {}
        """Seat -> the context in which its last turn ended."""

    @property
    def is_busy(self) -> bool:
        """Whether a turn is under way or asked for."""
        return bool(self._active or self._asked)

    def ask(self, turn: Turn) -> None:
        """Take a seat's next turn; it begins with the next step."""
        self._asked.append(turn)

    def leave(self, seat: int) -> None:
        """Forget a seat that asks for nothing more."""
        self._resting.pop(seat, None)

    def step(self) -> list[Turn]:
        """Sample at most a few tokens for each turn; return the turns that have ended.

        Their seats ask again or leave before the next step.
        """
        self._begin_turns()
        fed: list[Fed] = []
        guesses: dict[_Context, list[int]] = {}
        num_prompt_tokens = 0
        room = _STEP_TOKENS
        for context in self._active:
            missing = context.ids[context.segment.end :]
            ids = missing
            if len(missing) > 1:
                ids = missing[:room]
                room -= len(ids)
                num_prompt_tokens += len(ids)
            if len(ids) == len(missing):
                guess = guesses[context] = self._guess(context)
                fed.append(Fed(context.segment, [*ids, *guess], len(guess) + 1))
            elif ids:
                fed.append(Fed(context.segment, ids, num_logits=0))
        started = time.perf_counter()
        draws = Draws(feed(self._model, fed), self._temperature)
        ended: list[Turn] = []
        active: list[_Context] = []
        row = 0
        for context in self._active:
            if context not in guesses:
                active.append(context)
                continue
            for part, has_ended in self._drawn(context, guesses[context], draws, row):
                if has_ended:
                    ended += part.turns
                    self._resting.update((turn.seat, part) for turn in part.turns)
                else:
                    active.append(part)
            row += len(guesses[context]) + 1
        self._active = active
        self._count(fed, num_prompt_tokens, time.perf_counter() - started)
        self.counts.guessed_tokens += sum(map(len, guesses.values()))
        return ended

    def _begin_turns(self) -> None:
        """Turn what was asked for into contexts: one for all seats that have the same to go on."""
        groups: dict[tuple[int, tuple[int, ...]], list[Turn]] = {}
        bases: dict[int, _Context] = {}
        for turn in sorted(self._asked, key=lambda item: item.seat):
            base = self._resting.pop(turn.seat, None)
            if base is not None and list(turn.prompt_ids[: len(base.ids)]) != base.ids:
                base = None  # what the seat was shown before is shown otherwise now
            if base is not None:
                bases[id(base)] = base
            self.counts.prompt_tokens += len(turn.prompt_ids) - len(base.ids if base else ())
            groups.setdefault((id(base) if base else 0, turn.prompt_ids), []).append(turn)
        self._asked = []
        num_uses = Counter(base for base, _ in groups)
        for (key, ids), turns in groups.items():
            if key and num_uses[key] == 1:
                segment = bases[key].segment
            else:
                before = bases[key].segment if key else self._kept(ids[: turns[0].num_shared])
                segment = Segment(next(self._numbers), before)
            self._guesses.learn(ids, segment.end)
            self._active.append(_Context(segment, list(ids), turns))

    def _kept(self, ids: tuple[int, ...]) -> Segment | None:
        """Return the segment of a begin that several contexts share, fed once."""
        if not ids:
            return None
        segment = self._shared.get(ids)
        if segment is None:
            segment = self._shared[ids] = Segment(next(self._numbers))
            for start in range(0, len(ids), _STEP_TOKENS):
                fed = [Fed(segment, ids[start : start + _STEP_TOKENS])]
                started = time.perf_counter()
                feed(self._model, fed)
                self._count(fed, len(fed[0].ids), time.perf_counter() - started)
            self._guesses.learn(ids, 0)
        return segment

    def _guess(self, context: _Context) -> list[int]:
        """Return what may follow a context, within what its turns may have, and within a turn."""
        room = min(turn.most - len(turn.ids) for turn in context.turns) - 1
        known, right = self.counts.guessed_tokens, self.counts.accepted_tokens
        is_worth_it = known < _FIRST_GUESSES or right >= _LEAST_RIGHT * known
        guess = self._guesses.after(context.ids, min(_NUM_GUESSED if is_worth_it else 1, room))
        return guess[: guess.index(self._end_id)] if self._end_id in guess else guess

    def _drawn(
        self, context: _Context, guess: Sequence[int], draws: Draws, row: int
    ) -> list[tuple[_Context, bool]]:
        """Let a context's turns draw tokens for as long as all draw what was guessed, and one more.

        Args:
            context: it was fed its tokens, and the guessed ones.
            guess: what was guessed.
            draws: of all that was fed.
            row: of the first draw.

        Returns:
            The context in parts where its turns differ, and whether the turns of each have ended.
        """
        first = len(context.ids)
        for place in range(len(guess) + 1):
            parts: dict[tuple[int, bool], list[Turn]] = {}
            for turn in context.turns:
                token, logprob = draws.token(row + place, turn.draw.random())
                turn.ids.append(token)
                turn.logprobs.append(logprob)
                has_ended = token == self._end_id or len(turn.ids) >= turn.most
                parts.setdefault((token, has_ended), []).append(turn)
            self.counts.sampled_tokens += len(context.turns)
            if place == len(guess) or list(parts) != [(guess[place], False)]:
                break
            context.ids.append(guess[place])
            self.counts.accepted_tokens += 1
        context.segment.cut(len(context.ids))
        if len(parts) == 1:
            ((token, has_ended),) = parts
            context.ids.append(token)
            self._guesses.learn(context.ids, first)
            return [(context, has_ended)]
        found = []
        for (token, has_ended), turns in parts.items():
            segment = Segment(next(self._numbers), context.segment)
            part = _Context(segment, [*context.ids, token], turns)
            self._guesses.learn(part.ids, first)
            found.append((part, has_ended))
        return found

    def _count(self, fed: Sequence[Fed], num_prompt_tokens: int, seconds: float) -> None:
        num_decoded = sum(len(item.ids) for item in fed) - num_prompt_tokens
        share = num_decoded / (num_decoded + num_prompt_tokens)
        self.counts.decoded_tokens += num_decoded
        self.counts.prefilled_tokens += num_prompt_tokens
        self.counts.decode_seconds += share * seconds
        self.counts.prefill_seconds += (1 - share) * seconds
