"""A real HTTP endpoint on this machine that answers as a careless model might."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ANSWER = '<tool_call>{"name": "finish", "arguments": {"answer": {}}}</tool_call>'


class _Careless(BaseHTTPRequestHandler):
    """Answers every request with one `finish` call and an empty answer."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        choice = {"index": 0, "message": {"role": "assistant", "content": ANSWER}}
        body = json.dumps({"choices": [choice], "usage": {"completion_tokens": 9}}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def careless_endpoint() -> Iterator[str]:
    """Serve while the block lasts; yields the base URL, up to and including `/v1`."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Careless)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
