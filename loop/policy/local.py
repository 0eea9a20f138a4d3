"""A language model that runs here, and rollouts played with it in batches.

Owns the turn between harness and model: each rollout runs until it asks for its next turn; when all
of a batch have asked, the model samples. Nothing waits for a clock or an event loop, so that a
batch is the same whatever else runs. A batch has one thread, and on a CPU one core: many small
products gain little from several, and its bytes do not depend on how many there are.
"""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from components.errors import PolicyError, ProviderError
from components.harness.policy import PolicyReply, PolicyRequest
from components.records.base import hash_record
from components.records.trajectory import Trajectory
from loop.policy.config import LocalPolicyConfig
from loop.policy.effort import Effort, Played, Rollout
from loop.policy.generation import Generation, Turn
from loop.policy.segments import prepare
from loop.policy.tokens import ChatTokens
from loop.policy.weights import load_model


@dataclass(frozen=True, slots=True)
class LocalPolicy:
    """Acts by asking whoever plays the batch; outside of `Local.play` nobody answers."""

    version: str
    simulated: bool = False

    async def act(self, request: PolicyRequest) -> PolicyReply:
        """Return the model's next turn.

        Raises:
            ProviderError: the context does not fit the model's window.
        """
        return await _Asked(request)


@dataclass(frozen=True, slots=True)
class _Asked:
    request: PolicyRequest

    def __await__(self) -> Generator[PolicyRequest, PolicyReply, PolicyReply]:
        reply = yield self.request
        return reply


class Local:
    """An open model. `play` may run in several tasks at once; made by `open_local`."""

    def __init__(
        self, model: Any, tokens: ChatTokens, config: LocalPolicyConfig, version: str
    ) -> None:
        """Args: model: prepared, on its device; version: of its weights."""
        settings = config.model_copy(update={"model": version, "adapter": None})
        self.policy = LocalPolicy(f"local-v1:{version[:12]}:{hash_record(settings)[:12]}")
        self._model, self._tokens, self._config = model, tokens, config
        self._window = window_of(model)
        self._is_closing = threading.Event()

    async def play(self, rollouts: Sequence[Rollout]) -> Played:
        """Play rollouts of this policy to their end, in a thread of their own."""
        return await asyncio.to_thread(self._play, rollouts)

    def close(self) -> None:
        """End the batches that are under way, at their next step."""
        self._is_closing.set()

    def _play(self, rollouts: Sequence[Rollout]) -> Played:
        if self._model.device.type == "cpu":
            torch.set_num_threads(1)
        started = time.perf_counter()
        batch = _Batch(
            rollouts=rollouts,
            generation=Generation(self._model, self._tokens.end_id, self._config.temperature),
            tokens=self._tokens,
            window=self._window,
            trajectories={},
        )
        try:
            with torch.inference_mode():
                trajectories = batch.play(self._is_closing)
        finally:
            for rollout in rollouts:
                rollout.close()
        counts = batch.generation.counts
        effort = Effort(
            rollouts=len(rollouts),
            sampled_tokens=counts.sampled_tokens,
            decoded_tokens=counts.decoded_tokens,
            guessed_tokens=counts.guessed_tokens,
            accepted_tokens=counts.accepted_tokens,
            prompt_tokens=counts.prompt_tokens,
            prefilled_tokens=counts.prefilled_tokens,
            decode_seconds=counts.decode_seconds,
            prefill_seconds=counts.prefill_seconds,
            seconds=time.perf_counter() - started,
        )
        return Played(trajectories, effort)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Batch:
    rollouts: Sequence[Rollout]
    generation: Generation
    tokens: ChatTokens
    window: int
    trajectories: dict[int, Trajectory]

    def play(self, is_closing: threading.Event) -> list[Trajectory]:
        """Run all rollouts to their end. Raises PolicyError when it is told to end before."""
        for seat in range(len(self.rollouts)):
            self._go_on(seat, None)
        while self.generation.is_busy:
            if is_closing.is_set():
                raise PolicyError("the local model was closed while a batch was under way")
            for turn in self.generation.step():
                reply = PolicyReply(
                    text=self.tokens.text_of(turn.ids),
                    token_ids=tuple(turn.ids),
                    logprobs=tuple(turn.logprobs),
                )
                self._go_on(turn.seat, reply)
        return [self.trajectories[seat] for seat in range(len(self.rollouts))]

    def _go_on(self, seat: int, reply: PolicyReply | None) -> None:
        """Run one rollout until it asks for a turn that can be sampled, or ends."""
        rollout = self.rollouts[seat]
        try:
            request: PolicyRequest = rollout.send(reply)
            while True:
                turn = self._turn(seat, request)
                if len(turn.prompt_ids) < self.window:
                    self.generation.ask(turn)
                    return
                request = rollout.throw(
                    ProviderError(
                        f"the context of {len(turn.prompt_ids)} tokens leaves no room in the "
                        f"model's window of {self.window}; lower harness.max_turns or "
                        "harness.max_observation_chars"
                    )
                )
        except StopIteration as end:
            self.trajectories[seat] = end.value
            self.generation.leave(seat)

    def _turn(self, seat: int, request: PolicyRequest) -> Turn:
        ids = self.tokens.encode(request.messages, reply_next=True).ids
        has_system = request.messages[0].role == "system"
        shared = self.tokens.encode(request.messages[:1], reply_next=False).ids
        return Turn(
            seat=seat,
            prompt_ids=ids,
            num_shared=len(shared) if has_system else 0,
            draw=random.Random(f"{request.seed}:{request.turn_index}"),
            most=min(request.max_turn_tokens, self.window - len(ids)),
        )


@contextmanager
def open_local(config: LocalPolicyConfig) -> Iterator[Local]:
    """Load the model that a configuration names, and yield it.

    Raises:
        PolicyError: model, adapter or device is not there, or they do not fit.
    """
    check_device(config.device)
    num_threads = torch.get_num_threads()
    loaded = load_model(config.model, config.adapter)
    model = loaded.model.to(config.device, getattr(torch, config.dtype))
    prepare(model)
    tokens = ChatTokens(loaded.tokenizer)
    tokens.refuse_unknown(model.get_input_embeddings().num_embeddings)
    local = Local(model, tokens, config, loaded.version)
    try:
        yield local
    finally:
        local.close()
        torch.set_num_threads(num_threads)


def check_device(device: str) -> None:
    """Refuse a device that is not there.

    Raises:
        PolicyError: there is no GPU, or none of this number.
    """
    if device == "cpu":
        return
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if not count:
        raise PolicyError(f"policy.device={device}: no GPU is found; set policy.device=cpu")
    if int(device.partition(":")[2] or 0) >= count:
        raise PolicyError(
            f"policy.device={device}: there are {count} GPUs, numbered from 0; "
            f"set policy.device=cuda:{count - 1}"
        )


def window_of(model: Any) -> int:
    """Return how many tokens a context may have."""
    config = model.config.get_text_config()
    window: int = config.max_position_embeddings
    if "sliding_attention" in (getattr(config, "layer_types", None) or ()):
        window = min(window, config.sliding_window)
    return window
