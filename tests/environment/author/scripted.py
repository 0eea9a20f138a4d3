"""A real HTTP endpoint on this machine that plays a script, and what an author is given."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from components.environment.author.config import AuthorBudget, ModelAuthorConfig
from components.records.blueprint import Blueprint, Quarantine, QuarantineReason
from components.records.frozen import FrozenDict
from components.records.spec import ServiceSpec
from tests.environment.sandbox.notes import NO_ROWS, SOURCE, notes_spec

TOOLS = ("create_note", "get_note", "list_notes")
GOOD = SOURCE[: SOURCE.index('@tool("close_note"')]
"""The notes service with three tools."""
SEED = NO_ROWS


def small_spec() -> ServiceSpec:
    """The notes spec with three tools."""
    spec = notes_spec()
    return spec.model_copy(update={"tools": FrozenDict({n: spec.tools[n] for n in TOOLS})})


def empty_blueprint() -> Blueprint:
    """A blueprint in which no tool works."""
    unclear = Quarantine(reason=QuarantineReason.UNCLEAR, detail="nothing was inferred")
    return Blueprint(
        service="notes",
        entities=FrozenDict(),
        tools=FrozenDict(),
        quarantined=FrozenDict(dict.fromkeys(TOOLS, unclear)),
    )


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


def python(code: str, tests: Any = None) -> Play:
    """An answer with a file, and tests where they are given."""
    text = f"Here it is.\n\n```python\n{code}\n```\n"
    return Play(text if tests is None else f"{text}\n```json\n{json.dumps(tests)}\n```\n")


def stage_of(request: dict[str, Any]) -> str:
    """What a request is for, read off its messages."""
    system, prompt = (item["content"] for item in request["messages"])
    if system.startswith("You test"):
        return "adversarial"
    for start, stage in (
        ("Which of them show", "choose"),
        ("Before any code is written", "explore"),
        ("Make it shorter", "simplify"),
        ("What its tests say", "revise"),
    ):
        if start in prompt:
            return stage
    return "write"


Script = Callable[[str, int], Play]
"""Gives the answer to the n-th request (from 0) of a stage."""
ADVERSARIAL = [
    {
        "name": "a note can be read",
        "steps": [
            {"tool": "create_note", "arguments": {"title": "Milk"},
             "holds": {"/note/title": "Milk"}, "keep": {"note": "/note/id"}},
            {"tool": "get_note", "arguments": {"id": "$note"}, "holds": {"/note/id": "$note"}},
        ],
    },
    {
        "name": "no such note",
        "steps": [{"tool": "get_note", "arguments": {"id": "nowhere"}, "expect": "not_found"}],
    },
    {"name": "of another server", "steps": [{"tool": "drop_table"}]},
]  # fmt: skip
"""Two tests that can be made and one that cannot."""


def plays(**stages: list[Play] | Play) -> Script:
    """Return the script that gives each stage its answers, the last over and over."""

    def play(stage: str, place: int) -> Play:
        given = stages.get(stage)
        if given is None:
            defaults = {"adversarial": Play(json.dumps(ADVERSARIAL)), "explore": Play("Notes.")}
            return defaults.get(stage, Play("I would rather not."))
        return given[min(place, len(given) - 1)] if isinstance(given, list) else given

    return play


@dataclass
class Served:
    """A running endpoint and what it was asked."""

    base_url: str
    requests: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)

    @property
    def stages(self) -> list[str]:
        """What it was asked for, in order."""
        return [stage_of(request) for request in self.requests]

    def prompts(self, stage: str) -> list[str]:
        """The prompts of a stage."""
        return [r["messages"][1]["content"] for r in self.requests if stage_of(r) == stage]


@contextmanager
def serve(script: Script) -> Iterator[Served]:
    """Serve a script while the block lasts."""
    counts: dict[str, int] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            stage = stage_of(request)
            place = counts[stage] = counts.get(stage, -1) + 1
            served.requests.append(request)
            served.keys.append(self.headers.get("Authorization", ""))
            play = script(stage, place)
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


def author_config(base_url: str = "http://127.0.0.1:9/v1", **changes: Any) -> ModelAuthorConfig:
    """A configuration for tests: free, patient with nobody."""
    values: dict[str, Any] = {
        "kind": "model", "base_url": base_url, "model": "scripted",
        "api_key_env": "SELVAGE_TEST_KEY", "temperature": 0.0, "timeout_seconds": 5.0,
        "max_retries": 0, "max_answer_tokens": 4096, "usd_per_million_prompt_tokens": 0.0,
        "usd_per_million_answer_tokens": 0.0,
        "budget": AuthorBudget(tokens=1_000_000, usd=0.0), "revisions": 0, "source": None,
        "sandbox": "bubblewrap", "deadline_seconds": 20.0, "record": None, "replay": None,
    }  # fmt: skip
    return ModelAuthorConfig.model_validate({**values, **changes})
