"""Claims about the OpenAI-compatible policy, against a real server on this machine."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from components.errors import ProviderError
from components.harness.parsing import parse_turn
from components.harness.policy import Message, PolicyReply, PolicyRequest
from components.records.trajectory import StopReason
from loop.policy.config import OpenAIPolicyConfig
from loop.policy.openai import OpenAIPolicy, wire_messages
from tests.harness.builders import make_settings, play

KEY = "sk-very-secret-key"
Answer = tuple[int, bytes, dict[str, str]]
Requests = list[dict[str, Any]]


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_API_KEY", KEY)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@contextmanager
def server(
    *answers: Answer | Callable[[BaseHTTPRequestHandler], None],
) -> Iterator[tuple[str, Requests]]:
    """Serve the answers in order, the last one for ever; yield the address and what was asked."""
    asked: Requests = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            answer = answers[min(len(asked), len(answers) - 1)]
            asked.append(
                {"path": self.path, "key": self.headers.get("Authorization"), **json.loads(body)}
            )
            if callable(answer):
                answer(self)
                return
            status, data, headers = answer
            self.send_response(status)
            for name, value in {"Content-Length": str(len(data)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    running.daemon_threads = True
    thread = threading.Thread(target=running.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{running.server_address[1]}/v1", asked
    finally:
        running.shutdown()
        thread.join()
        running.server_close()


def good(
    text: str | None = "hello", choice: dict[str, Any] | None = None, **message: Any
) -> Answer:
    body = {
        "choices": [
            {"message": {"role": "assistant", "content": text, **message}, **(choice or {})}
        ],
        "usage": {"prompt_tokens": 11, "completion_tokens": 3},
    }
    return 200, json.dumps(body).encode(), {}


def failing(status: int, text: str = "sorry", **headers: str) -> Answer:
    return status, text.encode(), {name.replace("_", "-"): value for name, value in headers.items()}


def settings(base_url: str, **changes: Any) -> OpenAIPolicyConfig:
    values = {
        "kind": "openai",
        "base_url": base_url,
        "model": "tiny",
        "api_key_env": "TEST_API_KEY",
        "temperature": 0.5,
        "timeout_seconds": 5.0,
        "max_retries": 2,
        "max_turn_tokens": 100,
    }
    return OpenAIPolicyConfig.model_validate({**values, **changes})


REQUEST = PolicyRequest(
    messages=(
        Message(role="system", content="S"),
        Message(role="user", content="U"),
        Message(role="assistant", content="A"),
        Message(role="tool", content="T1"),
        Message(role="tool", content="T2"),
    ),
    tools=(),
    seed=3,
    turn_index=1,
    max_turn_tokens=512,
)


async def ask(
    base_url: str, waits: list[float] | None = None, **changes: Any
) -> tuple[PolicyReply, OpenAIPolicy]:
    """Ask once and return the reply and the closed policy; waits are noted and not waited."""

    async def note(seconds: float) -> None:
        if waits is not None:
            waits.append(seconds)

    policy = OpenAIPolicy(settings(base_url, **changes), sleep=note)
    try:
        return await policy.act(REQUEST), policy
    finally:
        await policy.aclose()


async def test_a_good_answer_is_returned_and_counted() -> None:
    choice = {
        "token_ids": [5, 6, 7],
        "logprobs": {"content": [{"logprob": -0.1}, {"logprob": -0.2}, {"logprob": -0.3}]},
    }
    with server(good("hello", choice)) as (url, asked):
        reply, policy = await ask(url)

    assert reply == PolicyReply(text="hello", token_ids=(5, 6, 7), logprobs=(-0.1, -0.2, -0.3))
    assert (policy.usage.num_requests, policy.usage.num_failed_requests) == (1, 0)
    assert (policy.usage.prompt_tokens, policy.usage.completion_tokens) == (11, 3)
    assert not policy.simulated
    assert policy.version.startswith("openai-v1:tiny:")
    sent = asked[0]
    assert sent["path"] == "/v1/chat/completions"
    assert sent["key"] == f"Bearer {KEY}"
    assert (sent["model"], sent["temperature"], sent["max_tokens"]) == ("tiny", 0.5, 100)
    assert sent["return_token_ids"] is True
    assert sent["messages"] == [
        {"role": "system", "content": "S"},
        {"role": "user", "content": "U"},
        {"role": "assistant", "content": "A"},
        {"role": "user", "content": "T1\nT2"},
    ]


async def test_the_same_rollout_and_turn_ask_with_the_same_seed() -> None:
    with server(good()) as (url, asked):
        await ask(url)
        await ask(url)

    assert asked[0]["seed"] == asked[1]["seed"]


async def test_too_many_requests_are_waited_for_as_the_server_says() -> None:
    waits: list[float] = []
    with server(failing(429, Retry_After="7"), failing(429, Retry_After="soon"), good()) as (
        url,
        _,
    ):
        reply, policy = await ask(url, waits)

    assert reply.text == "hello"
    assert waits == [7.0, 1.0]
    assert policy.usage.num_failed_requests == 2


async def test_server_errors_end_in_a_provider_error_after_the_budget() -> None:
    waits: list[float] = []
    with server(failing(500, KEY)) as (url, asked), pytest.raises(ProviderError) as caught:
        await ask(url, waits)

    assert str(caught.value) == "model tiny: 3 requests failed, the last with HTTP 500"
    assert len(asked) == 3
    assert waits == [0.5, 1.0]


@pytest.mark.parametrize(
    "body", [b"<html>oops</html>", b'{"choices": []}', b"[]", b"null", b"\xff"]
)
async def test_garbage_is_tried_again_and_then_a_provider_error(body: bytes) -> None:
    with server((200, body, {})) as (url, asked), pytest.raises(ProviderError, match="an answer"):
        await ask(url)

    assert len(asked) == 3


async def test_garbage_then_a_good_answer_is_a_good_answer() -> None:
    with server((200, b"<html>", {}), good("fine")) as (url, _):
        reply, _policy = await ask(url)

    assert reply.text == "fine"


def drip(handler: BaseHTTPRequestHandler) -> None:
    """Send one byte at a time, so that no single read ever times out."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    try:
        for _ in range(40):
            handler.wfile.write(b" ")
            handler.wfile.flush()
            time.sleep(0.05)
    except OSError:
        return


async def test_an_answer_that_only_drips_ends_at_the_time_limit() -> None:
    before = time.perf_counter()
    with server(drip) as (url, _), pytest.raises(ProviderError, match=r"no answer within 0\.2 s"):
        await ask(url, timeout_seconds=0.2, max_retries=0)

    assert time.perf_counter() - before < 1.5


async def test_a_server_that_is_not_there_is_a_provider_error() -> None:
    with server(good()) as (url, _):
        pass

    with pytest.raises(ProviderError, match="the last with ConnectError"):
        await ask(url)


@pytest.mark.parametrize(
    "answer",
    [
        failing(401, f"Incorrect API key provided: {KEY}"),
        failing(403, f"no: {KEY}"),
        failing(404, f"no model for {KEY}"),
        failing(500, KEY),
        (200, KEY.encode(), {}),
    ],
)
async def test_the_key_is_never_in_an_error(answer: Answer) -> None:
    with server(answer) as (url, _), pytest.raises(ProviderError) as caught:
        await ask(url)

    error: BaseException | None = caught.value
    while error is not None:
        assert KEY not in repr(error)
        error = error.__cause__


@pytest.mark.parametrize("key", ["sk\nsecret", "sk-s\u00e9cret\u4e2d"])
async def test_a_key_that_no_header_can_hold_is_a_provider_error(
    key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_API_KEY", key)
    with server(good()) as (url, _), pytest.raises(ProviderError) as caught:
        await ask(url)

    assert key not in str(caught.value)


async def test_without_a_key_no_authorization_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TEST_API_KEY")
    with server(good()) as (url, asked):
        await ask(url)

    assert asked[0]["key"] is None


async def test_a_server_that_refuses_the_extras_is_asked_without_them() -> None:
    with server(failing(400, "unknown field"), good()) as (url, asked):
        reply, _policy = await ask(url)

    assert reply == PolicyReply(text="hello")
    assert "logprobs" in asked[0]
    assert "logprobs" not in asked[1]
    assert "return_token_ids" not in asked[1]


async def test_a_refused_request_is_not_repeated() -> None:
    with (
        server(failing(404, "no such model")) as (url, asked),
        pytest.raises(ProviderError, match="model tiny: HTTP 404: no such model"),
    ):
        await ask(url)

    assert len(asked) == 1


async def test_calls_that_the_server_took_out_are_read_again_from_the_raw_text() -> None:
    calls = [
        {
            "id": f"c{number}",
            "type": "function",
            "function": {"name": "shop__get_order", "arguments": json.dumps({"order_id": order})},
        }
        for number, order in enumerate(("ord_a1", "ord_b2"))
    ]
    with server(good(None, tool_calls=calls, reasoning_content="hm {")) as (url, _):
        reply, _policy = await ask(url)

    parsed = parse_turn(reply.text, make_settings(), {})
    assert [(call.parser, call.arguments["order_id"]) for call in parsed.calls] == [
        ("openai", "ord_a1"),
        ("openai", "ord_b2"),
    ]
    assert reply.text.startswith("<think>hm {</think>")


async def test_a_dead_endpoint_is_data_in_the_trajectory() -> None:
    with server(failing(503)) as (url, _):
        policy = OpenAIPolicy(settings(url, max_retries=0))
        trajectory = await play(policy)
        await policy.aclose()

    assert trajectory.stop_reason is StopReason.FAILURE
    assert trajectory.failure
    assert trajectory.failure.boundary == "provider"
    assert not trajectory.simulated


def test_one_policy_serves_one_event_loop_after_another() -> None:
    with server(good()) as (url, asked):
        policy = OpenAIPolicy(settings(url))
        for _ in range(2):
            assert asyncio.run(policy.act(REQUEST)).text == "hello"

    assert len(asked) == 2


def test_the_version_depends_on_sampling_and_not_on_the_address() -> None:
    base = OpenAIPolicy(settings("http://one/v1")).version

    assert OpenAIPolicy(settings("http://two/v1")).version == base
    assert OpenAIPolicy(settings("http://one/v1", temperature=0.9)).version != base


def test_no_observation_is_lost_on_the_wire() -> None:
    wire = wire_messages(REQUEST.messages)

    assert "".join(item["content"] for item in wire).count("T") == 2
