"""The components' door to HTTP: one request to an OpenAI-compatible `/chat/completions`.

Owns the request, its deadline, the size of the answer, and what each failure means: whether it may
be tried again, and whether it may have cost something. The key comes from an environment variable,
is never stored, and never appears in a problem. The rollouts' policy has a door of its own above
this layer (`loop/policy/openai.py`), which components may not import.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Callable
from typing import Any

import httpx  # noqa: TID251 (this file is the components' door)

from components.errors import PolicyError
from components.model.config import ModelConfig
from components.model.records import Request, Tried

Door = Callable[[Request, int], Tried]
"""Makes one HTTP request that allows so many tokens, and never raises for what came of it."""
MAX_ANSWER_BYTES = 4 << 20
CHECK_SECONDS = 10.0
_RETRIED = frozenset({408, 409, 425, 429})
_LONGEST_WAIT_SECONDS = 60.0
_TOO_LONG = re.compile(
    r"context[ _](?:length|size|window)|(?:prompt|input|request)\b.{0,40}\btoo long", re.IGNORECASE
)
"""How endpoints say that a prompt does not fit: llama.cpp, vLLM, SGLang and hosted models."""


def open_door(config: ModelConfig) -> Door:
    """Return the door to a configured endpoint. It must not be used from a running event loop."""

    def knock(request: Request, max_tokens: int) -> Tried:
        return asyncio.run(_asked(config, request, max_tokens))

    return knock


def check_endpoint(config: ModelConfig) -> None:
    """Make sure that the endpoint is there and takes the key; nothing is generated.

    What it says of `/models` is not read: some endpoints have no such list.

    Raises:
        PolicyError: it does not answer, or refuses the key.
    """
    key = os.environ.get(config.api_key_env)
    url = config.base_url.rstrip("/") + "/models"
    try:
        status = httpx.get(
            url,
            headers={"Authorization": f"Bearer {key}"} if key else {},
            timeout=min(config.timeout_seconds, CHECK_SECONDS),
        ).status_code
    except (httpx.HTTPError, httpx.InvalidURL, UnicodeError, ValueError) as error:
        raise PolicyError(
            f"{config.section}.base_url={config.base_url}: no answer ({type(error).__name__}); "
            f"start the endpoint or mend {config.section}.base_url"
        ) from None
    if status in (401, 403):
        found = "is refused" if key else "is not set"
        raise PolicyError(
            f"{config.section}.base_url={config.base_url} wants a key (HTTP {status}), and the "
            f"one in the variable {config.api_key_env} {found}; put it there, or name another "
            f"with {config.section}.api_key_env"
        )


async def _asked(config: ModelConfig, request: Request, max_tokens: int) -> Tried:
    key = os.environ.get(config.api_key_env)
    # A compressed answer would have no size before it is unpacked.
    headers = {"Accept-Encoding": "identity"} | ({"Authorization": f"Bearer {key}"} if key else {})
    url = config.base_url.rstrip("/") + "/chat/completions"
    body = {
        "model": request.model,
        "messages": [{"role": item.role, "content": item.content} for item in request.messages],
        "temperature": request.temperature,
        "seed": request.seed,
        "max_tokens": max_tokens,
    }
    try:
        # The client's own limit starts anew with every byte; this one ends the request.
        async with (
            asyncio.timeout(config.timeout_seconds),
            httpx.AsyncClient(timeout=config.timeout_seconds) as client,
            client.stream("POST", url, json=body, headers=headers) as response,
        ):
            parts, size = [], 0
            async for part in response.aiter_raw():
                parts.append(part)
                size += len(part)
                if size > MAX_ANSWER_BYTES:
                    problem = f"an answer of over {MAX_ANSWER_BYTES} bytes"
                    return Tried(status=response.status_code, problem=problem, may_retry=True)
            status, wait = response.status_code, _retry_after(response)
    except (TimeoutError, httpx.TimeoutException):
        problem = (
            f"no answer within {config.timeout_seconds:g} s; a slow model needs a larger "
            f"{config.section}.timeout_seconds or a smaller {config.section}.max_answer_tokens"
        )
        return Tried(problem=problem, may_retry=True)
    except httpx.ConnectError:
        return Tried(problem="no connection", may_retry=True, may_cost=False)
    except httpx.TransportError as error:
        return Tried(problem=type(error).__name__, may_retry=True)  # its text may hold the address
    except (httpx.InvalidURL, UnicodeError, ValueError) as error:
        problem = (
            f"the request could not be made ({type(error).__name__}); check "
            f"{config.section}.base_url and the variable {config.api_key_env}"
        )
        return Tried(problem=problem, may_cost=False)
    if status != 200:
        return _refused(config, status, wait, b"".join(parts), key)
    return _heard(b"".join(parts))


def _refused(
    config: ModelConfig, status: int, wait: float | None, body: bytes, key: str | None
) -> Tried:
    problem, is_too_long = f"HTTP {status}", False
    if status in (401, 403):
        problem += f" (check the key in the environment variable {config.api_key_env})"
    elif status not in _RETRIED and status < 500:
        text = " ".join(body[:2000].decode("utf-8", "replace").split())
        problem += f": {(text.replace(key, '***') if key else text)[:200]}"
        is_too_long = bool(_TOO_LONG.search(text))
    if is_too_long:
        problem += (
            "; serve the model with a larger window, or set a smaller "
            f"{config.section}.max_answer_tokens"
        )
    return Tried(
        status=status,
        problem=problem,
        may_retry=status in _RETRIED or status >= 500,
        wait_seconds=wait,
        may_cost=False,
        is_too_long=is_too_long,
    )


def _heard(body: bytes) -> Tried:
    try:
        answer = json.loads(body)
        choice = answer["choices"][0]
        content = choice["message"]["content"]
        usage = answer.get("usage") or {}
        return Tried(
            status=200,
            text=_valid(content if isinstance(content, str) else ""),
            is_whole=choice.get("finish_reason") != "length",
            prompt_tokens=_count(usage.get("prompt_tokens")),
            answer_tokens=_count(usage.get("completion_tokens")),
        )
    except (KeyError, IndexError, TypeError, AttributeError, ValueError, RecursionError):
        return Tried(status=200, problem="an answer without a message", may_retry=True)


def _valid(text: str) -> str:
    """Return the text without halves of surrogate pairs, which no file can hold."""
    return text.encode("utf-8", "replace").decode()


def _count(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value < 1 << 40 else None


def _retry_after(response: httpx.Response) -> float | None:
    try:
        return min(max(0.0, float(response.headers["Retry-After"])), _LONGEST_WAIT_SECONDS)
    except (KeyError, ValueError):
        return None
