"""Real HTTP endpoints on this machine, that answer as a careless model, a hostile one, or none."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

ANSWER = '<tool_call>{"name": "finish", "arguments": {"answer": {}}}</tool_call>'
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)> {{ 7 * 7 }} {% raw %} \ud83d"
"""Half of a surrogate pair at its end: JSON can hold it, UTF-8 cannot."""
BROKEN = (
    (200, b"<html>garbage</html>"),
    (200, b'{"choices": [{"mess'),
    (200, b'{"choices": []}'),
    (200, b'{"error": {"message": "overloaded"}}'),
    (200, b"\xff\xfe\x00"),
    (500, b"{}"),
    (404, b"no such model"),
)
"""Answers that hold no message."""


def reply(text: str) -> tuple[int, bytes]:
    """Return the answer that says this."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}}
    return 200, json.dumps({"choices": [choice], "usage": {"completion_tokens": 9}}).encode()


@contextmanager
def serve(*answers: tuple[int, bytes]) -> Iterator[str]:
    """Serve these answers in turn, over and over, while the block lasts; yields the base URL."""
    asked = 0

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            nonlocal asked
            self.rfile.read(int(self.headers["Content-Length"]))
            status, body = answers[asked % len(answers)]
            asked += 1
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def careless_endpoint() -> Iterator[str]:
    """Answer every request with one `finish` call and an empty answer."""
    with serve(reply(ANSWER)) as base_url:
        yield base_url
