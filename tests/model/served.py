"""A real HTTP endpoint on this machine that plays a script, and a configuration that names it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

from components.model.config import ModelBudget, ModelConfig


@dataclass
class Play:
    """How the endpoint answers one request."""

    text: str = ""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    prompt_tokens: int | None = 100
    answer_tokens: int | None = 50
    finish: str = "stop"
    body: bytes | None = None
    """Sent instead of a message."""
    is_truncated: bool = False
    """The connection ends in the middle of the body."""
    hang_seconds: float = 0.0
    pad: int = 0
    """Blanks sent before the body."""


def in_turn(*plays: Play) -> Answer:
    """Return what gives these answers in turn, the last over and over."""
    place = -1

    def answer(_request: dict[str, Any]) -> Play:
        nonlocal place
        place += 1
        return plays[min(place, len(plays) - 1)]

    return answer


Answer = Callable[[dict[str, Any]], Play]
"""Gives the answer to a request."""


@dataclass
class Served:
    """A running endpoint and what it was asked."""

    base_url: str
    requests: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)


@contextmanager
def serve(answer: Answer) -> Iterator[Served]:
    """Serve answers while the block lasts."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            served.requests.append(request)
            served.keys.append(self.headers.get("Authorization", ""))
            play = answer(request)
            deadline = time.perf_counter() + play.hang_seconds
            while time.perf_counter() < deadline and not closing.is_set():
                time.sleep(0.01)
            body = play.body if play.body is not None else _message(play)
            self.send_response(play.status)
            for name, value in play.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body) + play.pad))
            self.end_headers()
            try:
                for _ in range(play.pad >> 16):
                    self.wfile.write(b" " * (1 << 16))
                self.wfile.write(body[: len(body) // 2] if play.is_truncated else body)
            except OSError:
                pass
            self.close_connection = True

        def log_message(self, format: str, *args: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            """A client that hangs up is part of the play."""

    closing = threading.Event()
    server = Server(("127.0.0.1", 0), Handler)
    served = Served(f"http://127.0.0.1:{server.server_port}/v1")
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield served
    finally:
        closing.set()
        server.shutdown()
        server.server_close()


def _message(play: Play) -> bytes:
    choice = {"message": {"role": "assistant", "content": play.text}, "finish_reason": play.finish}
    usage = {"prompt_tokens": play.prompt_tokens, "completion_tokens": play.answer_tokens}
    return json.dumps(
        {"choices": [choice], "usage": {k: v for k, v in usage.items() if v is not None}}
    ).encode()


class DeskConfig(ModelConfig):
    """A place that asks a model."""

    section: ClassVar[str] = "desk"


FREE: dict[str, Any] = {
    "kind": "model", "model": "scripted", "api_key_env": "SELVAGE_TEST_KEY", "temperature": 0.0,
    "timeout_seconds": 5.0, "max_retries": 0, "max_answer_tokens": 4096,
    "usd_per_million_prompt_tokens": 0.0, "usd_per_million_answer_tokens": 0.0,
    "budget": ModelBudget(tokens=1_000_000, usd=0.0),
}  # fmt: skip
"""Keys of every configuration for tests: free, patient with nobody."""


def desk_config(base_url: str = "http://127.0.0.1:9/v1", **changes: Any) -> DeskConfig:
    """A configuration for tests."""
    return DeskConfig.model_validate({**FREE, "base_url": base_url, **changes})
