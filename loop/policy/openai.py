"""A policy behind an OpenAI-compatible `/chat/completions` endpoint; the only file with HTTP.

Text in, text out: tools are described in the messages and calls are read from the raw text, so that
what is recorded is what was sampled. The API key comes from an environment variable, is never
stored, and never appears in an error.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import httpx

from components.errors import ProviderError
from components.harness.policy import Message, PolicyReply, PolicyRequest
from components.records.base import hash_record
from loop.policy.config import OpenAIPolicyConfig

_FIRST_WAIT_SECONDS = 0.5
_LONGEST_WAIT_SECONDS = 30.0
_RETRIED = frozenset({408, 409, 425, 429})
_EXTRAS = {"logprobs": True, "return_token_ids": True}
"""Asked for until a server refuses them."""


@dataclass(slots=True)
class Usage:
    """What a policy has used so far, over all rollouts."""

    num_requests: int = 0
    num_failed_requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0


class _Retriable(Exception):
    """A request that failed in a way that may pass; the text is safe to show."""

    def __init__(self, problem: str, wait_seconds: float | None = None) -> None:
        super().__init__(problem)
        self.wait_seconds = wait_seconds


class OpenAIPolicy:
    """Asks an endpoint for each turn; each event loop gets its own connections. See `aclose`."""

    simulated = False

    def __init__(
        self,
        settings: OpenAIPolicyConfig,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        """Args: settings of the endpoint; sleep: waits that many seconds between tries."""
        sampling = settings.model_copy(update={"base_url": "", "api_key_env": ""})
        self.version = f"openai-v1:{settings.model}:{hash_record(sampling)[:12]}"
        self.usage = Usage()
        self._settings = settings
        self._sleep = sleep
        self._asks_extras = True
        self._client: httpx.AsyncClient | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def aclose(self) -> None:
        """Close the connections of this event loop; a later request opens new ones."""
        if self._client is not None and self._loop is asyncio.get_running_loop():
            await self._client.aclose()
        self._client = None

    async def act(self, request: PolicyRequest) -> PolicyReply:
        """Return the endpoint's next message.

        Raises:
            ProviderError: the endpoint refused the request, or failed once more than
                `max_retries` allows.
        """
        body = {
            "model": self._settings.model,
            "messages": wire_messages(request.messages),
            "temperature": self._settings.temperature,
            "max_tokens": min(request.max_turn_tokens, self._settings.max_turn_tokens),
            "seed": random.Random(f"{request.seed}:{request.turn_index}").getrandbits(31),
        }
        num_tries = self._settings.max_retries + 1
        for attempt in range(num_tries):
            try:
                return self._reply(await self._answer(body))
            except _Retriable as error:
                self.usage.num_failed_requests += 1
                problem = str(error)
                if attempt + 1 < num_tries:
                    wait = error.wait_seconds
                    pause = _FIRST_WAIT_SECONDS * 2**attempt if wait is None else wait
                    await self._sleep(min(pause, _LONGEST_WAIT_SECONDS))
        raise ProviderError(
            f"model {self._settings.model}: {num_tries} requests failed, the last with {problem}"
        )

    async def _answer(self, body: Mapping[str, Any]) -> Any:
        """Return the decoded answer of one request, made without the extras if they are refused."""
        asks_extras = self._asks_extras
        response = await self._post({**body, **_EXTRAS} if asks_extras else body)
        if response.status_code in (400, 422) and asks_extras:
            response = await self._post(body)
            if response.is_success:
                self._asks_extras = False
        status = response.status_code
        if status in _RETRIED or status >= 500:
            raise _Retriable(f"HTTP {status}", _retry_after(response))
        if not response.is_success:
            raise ProviderError(
                f"model {self._settings.model}: HTTP {status}{self._excerpt(response)}"
            )
        try:
            return response.json()
        except ValueError as error:
            raise _Retriable("an answer that is not JSON") from error

    async def _post(self, body: Mapping[str, Any]) -> httpx.Response:
        self.usage.num_requests += 1
        key = os.environ.get(self._settings.api_key_env)
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        url = self._settings.base_url.rstrip("/") + "/chat/completions"
        try:
            # The client's own limit starts anew with every byte; this one ends the request.
            async with asyncio.timeout(self._settings.timeout_seconds):
                return await self._connected().post(url, json=body, headers=headers)
        except (TimeoutError, httpx.TimeoutException) as error:
            limit = self._settings.timeout_seconds
            raise _Retriable(f"no answer within {limit:g} s") from error
        except httpx.TransportError as error:
            raise _Retriable(type(error).__name__) from None  # its text may hold the address
        except (httpx.InvalidURL, UnicodeError, ValueError) as error:
            name = type(error).__name__
            raise ProviderError(
                f"model {self._settings.model}: the request could not be made ({name}); "
                f"check policy.base_url and the variable {self._settings.api_key_env}"
            ) from None

    def _connected(self) -> httpx.AsyncClient:
        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:  # connections die with their loop
            self._client = httpx.AsyncClient(timeout=self._settings.timeout_seconds)
            self._loop = loop
        return self._client

    def _excerpt(self, response: httpx.Response) -> str:
        """Return the start of an error's text; nothing where it may speak of the key."""
        if response.status_code in (401, 403):
            return f" (check the key in the environment variable {self._settings.api_key_env})"
        text = " ".join(response.text.split())
        key = os.environ.get(self._settings.api_key_env)
        return f": {(text.replace(key, '***') if key else text)[:200]}"

    def _reply(self, answer: Any) -> PolicyReply:
        try:
            choice = answer["choices"][0]
            message = choice["message"]
            text = raw_text(message)
            usage = answer.get("usage") or {}
            self.usage.prompt_tokens += int(usage.get("prompt_tokens") or 0)
            self.usage.completion_tokens += int(usage.get("completion_tokens") or 0)
            token_ids = choice.get("token_ids")
            tokens = (choice.get("logprobs") or {}).get("content")
            return PolicyReply(
                text=text,
                token_ids=tuple(int(item) for item in token_ids) if token_ids else None,
                logprobs=tuple(float(item["logprob"]) for item in tokens) if tokens else None,
            )
        except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
            raise _Retriable("an answer without a message") from error


def wire_messages(messages: Sequence[Message]) -> list[dict[str, str]]:
    """Return the messages as every endpoint takes them.

    Observations go as `user`: many chat templates drop tool turns, and hosted ones refuse those
    without the id of a call that they made themselves. Neighbours of one role are joined, as some
    templates insist on turns.
    """
    wire: list[dict[str, str]] = []
    for message in messages:
        role = "user" if message.role == "tool" else message.role
        if wire and wire[-1]["role"] == role:
            wire[-1]["content"] += "\n" + message.content
        else:
            wire.append({"role": role, "content": message.content})
    return wire


def raw_text(message: Mapping[str, Any]) -> str:
    """Return an assistant message as text; calls that the server took out are put back as JSON."""
    content = message.get("content") or ""
    if not isinstance(content, str):
        raise TypeError("content is not text")
    reasoning = message.get("reasoning_content") or message.get("reasoning")
    thought = f"<think>{reasoning}</think>\n" if isinstance(reasoning, str) and reasoning else ""
    calls = message.get("tool_calls")
    if not calls:
        return thought + content
    body = {"role": "assistant", "content": content, "tool_calls": calls}
    return thought + json.dumps(body, ensure_ascii=False)


def list_models(settings: OpenAIPolicyConfig, timeout_seconds: float) -> tuple[str, ...]:
    """Ask the endpoint which models it serves; nothing is generated.

    Raises:
        ProviderError: it does not answer in time, refuses, or answers something else.
    """
    key = os.environ.get(settings.api_key_env)
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    url = settings.base_url.rstrip("/") + "/models"
    try:
        response = httpx.get(url, headers=headers, timeout=timeout_seconds)
    except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
        raise ProviderError(f"{type(error).__name__} at {settings.base_url}") from None
    if response.status_code != 200:
        raise ProviderError(f"status {response.status_code} at {settings.base_url}")
    try:
        return tuple(str(item["id"]) for item in response.json()["data"])
    except (ValueError, KeyError, TypeError):
        raise ProviderError(f"no list of models at {settings.base_url}") from None


def _retry_after(response: httpx.Response) -> float | None:
    try:
        return max(0.0, float(response.headers["Retry-After"]))
    except (KeyError, ValueError):
        return None
