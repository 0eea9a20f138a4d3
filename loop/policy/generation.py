"""Turns sampled for many rollouts at once: each step feeds every context one token, or what is new.

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

import torch
from torch import Tensor

from loop.policy.segments import Fed, Segment, feed

_STEP_TOKENS = 1024
"""Most tokens of prompts that are fed in one step; bounds its memory."""


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
        """Sample at most one token for each turn; return the turns that have ended.

        Their seats ask again or leave before the next step.
        """
        self._begin_turns()
        fed: list[Fed] = []
        ready: list[_Context] = []
        rows: list[int] = []
        room = _STEP_TOKENS
        for context in self._active:
            missing = context.ids[context.segment.end :]
            ids = missing if len(missing) == 1 else missing[:room]
            room -= len(ids) if len(ids) > 1 else 0
            if len(ids) == len(missing):
                ready.append(context)
                rows.append(len(fed))
            if ids:
                fed.append(Fed(context.segment, ids))
        started = time.perf_counter()
        logits = feed(self._model, fed)
        tokens, logprobs = self._drawn(logits[rows], ready)
        self._count(fed, time.perf_counter() - started)
        self.counts.sampled_tokens += len(tokens)
        drawn = iter(zip(tokens, logprobs, strict=True))
        ended: list[Turn] = []
        active, can_draw = [], set(ready)
        for context in self._active:
            if context not in can_draw:
                active.append(context)
                continue
            for turn in context.turns:
                token, logprob = next(drawn)
                turn.ids.append(token)
                turn.logprobs.append(logprob)
            for part, has_ended in self._parted(context):
                if has_ended:
                    ended += part.turns
                    self._resting.update((turn.seat, part) for turn in part.turns)
                else:
                    active.append(part)
        self._active = active
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
                self._count(fed, time.perf_counter() - started)
        return segment

    def _drawn(
        self, logits_CV: Tensor, contexts: Sequence[_Context]
    ) -> tuple[list[int], list[float]]:
        """Return the tokens of all turns of these contexts, in order, and their log-probabilities.

        A token is where the turn's next number falls on the cumulated probabilities, so that close
        models draw alike.
        """
        rows = [row for row, context in enumerate(contexts) for _ in context.turns]
        logprobs_CV = logits_CV.float().log_softmax(-1)
        if self._temperature == 0:
            tokens_S = logits_CV.argmax(-1)[rows]
        else:
            numbers = [turn.draw.random() for context in contexts for turn in context.turns]
            scaled_CV = (logits_CV.float() / self._temperature).softmax(-1)
            cumulated_CV = scaled_CV.cumsum(-1, dtype=torch.float64)
            numbers_S = torch.tensor(numbers, dtype=torch.float64, device=logits_CV.device)
            sought_S = numbers_S * cumulated_CV[rows, -1]
            found_S1 = torch.searchsorted(cumulated_CV[rows], sought_S[:, None], right=True)
            tokens_S = found_S1[:, 0].clamp(max=logits_CV.shape[1] - 1)
        logprobs_S = logprobs_CV[rows, tokens_S]
        return tokens_S.tolist(), logprobs_S.tolist()

    def _parted(self, context: _Context) -> list[tuple[_Context, bool]]:
        """Return a context after its turns drew a token, in parts where they differ.

        With each part goes whether its turns have ended.
        """
        parts: dict[tuple[int, bool], list[Turn]] = {}
        for turn in context.turns:
            has_ended = turn.ids[-1] == self._end_id or len(turn.ids) >= turn.most
            parts.setdefault((turn.ids[-1], has_ended), []).append(turn)
        if len(parts) == 1:
            ((token, has_ended),) = parts
            context.ids.append(token)
            return [(context, has_ended)]
        return [
            (
                _Context(
                    Segment(next(self._numbers), context.segment), [*context.ids, token], turns
                ),
                has_ended,
            )
            for (token, has_ended), turns in parts.items()
        ]

    def _count(self, fed: Sequence[Fed], seconds: float) -> None:
        num_decoded = sum(len(item.ids) == 1 for item in fed)
        num_prefilled = sum(len(item.ids) for item in fed) - num_decoded
        share = num_decoded / (num_decoded + num_prefilled)
        self.counts.decoded_tokens += num_decoded
        self.counts.prefilled_tokens += num_prefilled
        self.counts.decode_seconds += share * seconds
        self.counts.prefill_seconds += (1 - share) * seconds
