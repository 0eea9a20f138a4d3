"""Requests to a model: recorded or asked, within the budget, tried again where that helps."""

from __future__ import annotations

import time
from collections.abc import Callable

from components.errors import ProviderError
from components.model.budget import Budget
from components.model.config import ModelConfig
from components.model.endpoint import Door
from components.model.recording import Recording
from components.model.records import Message, Request, Tried
from components.records.frozen import content_hash

_FIRST_WAIT_SECONDS = 0.25


class PromptTooLong(Exception):
    """A prompt does not fit the model's window; the text says what the endpoint said."""


class Session:
    """Asks a model. It remembers nothing between requests: each prompt says all that is needed."""

    def __init__(
        self,
        config: ModelConfig,
        budget: Budget,
        recording: Recording,
        door: Door,
        sleep: Callable[[float], object] = time.sleep,
        *,
        is_whole: bool = False,
    ) -> None:
        """Open a session.

        Args:
            config: model and limits.
            budget: what is charged.
            recording: what was asked before.
            door: makes one request.
            sleep: waits that many seconds between tries.
            is_whole: True: the budget covers all that the recording holds, whether it is asked for
                again or not, and is charged with it now; False: an answer is charged as it is used.
        """
        self._config, self._budget, self._recording = config, budget, recording
        self._door, self._sleep, self._is_whole = door, sleep, is_whole
        self._asked: dict[str, int] = {}
        for line in recording.exchanges if is_whole else recording.failed:
            budget.charge(line.request.stage, line.request.messages, line.max_tokens, line.tried)

    def ask(self, stage: str, system: str, prompt: str) -> Tried:
        """Return an answer that has text.

        Raises:
            BudgetSpent: no further request fits.
            PromptTooLong: the endpoint says that the prompt does not fit the model's window.
            ProviderError: the endpoint refused, or failed once more than `max_retries` allows.
            ConfigError: a replay has no answer to this.
        """
        messages = (Message(role="system", content=system), Message(role="user", content=prompt))
        content = content_hash([str(stage), system, prompt])
        occurrence = self._asked[content] = self._asked.get(content, -1) + 1
        request = Request(
            stage=str(stage),
            model=self._config.model,
            temperature=self._config.temperature,
            seed=int(content_hash([content, occurrence])[:7], 16),
            messages=messages,
        )
        attempt = 0
        while True:
            tried, is_recorded = self._try(request)
            attempt += 1
            if tried.text is not None:
                return tried
            if self._recording.holds(request):  # a run that went on after this had asked again
                continue
            if tried.is_too_long:
                raise PromptTooLong(f"model {self._config.model}: {tried.problem}")
            if not tried.may_retry or attempt > self._config.max_retries:
                raise ProviderError(f"model {self._config.model}: {tried.problem}")
            if not is_recorded:
                wait = tried.wait_seconds
                self._sleep(_FIRST_WAIT_SECONDS * 2**attempt if wait is None else wait)

    def _try(self, request: Request) -> tuple[Tried, bool]:
        """Return what came of one HTTP request, and whether it was recorded before."""
        line = self._recording.take(request)
        if line is not None:
            max_tokens, tried = line.max_tokens, line.tried
        else:
            max_tokens = self._budget.allowance(request.messages)
            self._recording.check_live(request)
            self._recording.ask(request, max_tokens)
            tried = self._door(request, max_tokens)
            self._recording.answer(request, tried)
        if line is None or not self._is_whole:
            self._budget.charge(request.stage, request.messages, max_tokens, tried)
        return tried, line is not None
