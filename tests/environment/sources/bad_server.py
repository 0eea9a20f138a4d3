"""A local server with one fault: `bad_server.py <mode> [file]`. Plain Python, no SDK.

Modes: half (crashes between two pages), circle (a page leads back to the first), flood (one endless
line), noise (endless lines that are no messages), shout (stderr without end, then lists), orphan
(leaves a child behind, whose process id it writes to the file), deaf (ignores the end of its
input and polite signals), deep (one tool of 400 levels among two), halves (lone surrogates and
bytes that are no text), number (a cursor that is a number), nolist (an answer without a list),
needs (wants the variable WANTED), late (lists after one second), usage (says how it is used on
stdout, and ends), empty (lists no tools).
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import Any


def say(identifier: Any, result: Any) -> None:
    """Write one answer."""
    print(json.dumps({"jsonrpc": "2.0", "id": identifier, "result": result}), flush=True)


def tool(name: str, schema: Any = None) -> dict[str, Any]:
    """One tool."""
    return {"name": name, "inputSchema": schema or {"type": "object"}}


def answer(mode: str, request: Any) -> None:
    """Answer `tools/list`."""
    cursor = (request.get("params") or {}).get("cursor")
    number = request["id"]
    if mode == "half":
        if cursor:
            print("Traceback: second page", file=sys.stderr, flush=True)
            sys.exit(1)
        say(number, {"tools": [tool("first")], "nextCursor": "2"})
    elif mode == "circle":
        say(number, {"tools": [tool(f"page_{cursor or 1}")], "nextCursor": "2"})
    elif mode == "flood":
        while True:
            sys.stdout.write("x" * 1_000_000)
    elif mode == "noise":
        while True:
            sys.stdout.write("not a message\n" * 10_000)
    elif mode == "deep":
        schema: Any = {"type": "string"}
        for _ in range(400):
            schema = {"properties": {"a": schema}}
        say(number, {"tools": [tool("one"), tool("deep", schema), tool("two")]})
    elif mode == "halves":
        sys.stdout.buffer.write(b'{"jsonrpc":"2.0","id":%d,"result":{"tools":' % number)
        sys.stdout.buffer.write(b'[{"name":"a\\ud800"},{"name":"b\xff\xfe"}]}}\n')
        sys.stdout.buffer.flush()
    elif mode == "number":
        say(number, {"tools": [tool("one")], "nextCursor": 5})
    elif mode == "empty":
        say(number, {"tools": []})
    elif mode == "nolist":
        say(number, {"tools": {"one": {}}})
    else:
        say(number, {"tools": [tool("one")]})


def main(mode: str) -> None:
    """Answer requests line by line, with the fault."""
    if mode == "needs" and not os.environ.get("WANTED"):
        sys.exit("the environment variable WANTED is not set")
    if mode == "usage":
        print("usage: bad_server mcp", flush=True)
        sys.exit(f"{os.environ.get('WANTED', '')}\n    at main (bad.js:1)\n\nNode.js v20.20.2")
    if mode == "orphan":
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
        with open(sys.argv[2], "w", encoding="utf-8") as file:
            file.write(str(child.pid))
    if mode == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if mode == "shout":
        for _ in range(200):
            sys.stderr.write("noise " * 20_000 + "\n")
    for line in sys.stdin:
        request = json.loads(line)
        if request.get("method") == "initialize":
            body = {"capabilities": {"tools": {}}, "serverInfo": {"name": mode, "version": "1"}}
            version = request["params"]["protocolVersion"]
            say(request["id"], {"protocolVersion": version, **body})
        elif request.get("method") == "tools/list":
            if mode == "late":
                time.sleep(1)
            answer(mode, request)
    if mode == "deaf":
        time.sleep(300)


if __name__ == "__main__":
    main(sys.argv[1])
