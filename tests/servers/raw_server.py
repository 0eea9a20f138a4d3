"""A hand-written server for faults that a well-made one cannot have: `raw_server.py <mode>`.

Modes: messy, junk, hang, crash, refuse, endless, leak. `leak` repeats its secret in every place
    it can reach.
"""

from __future__ import annotations

import base64
import json
import os
import sys
import time
from typing import Any

SECRET = os.environ.get("SECRET", "")

MESSY: list[Any] = [
    {"name": "null_properties", "inputSchema": {"type": "object", "properties": None}},
    {"name": "no_schema"},
    {"name": "null_schema", "inputSchema": None},
    {"name": "boolean_schema", "inputSchema": True},
    {"name": "list schema", "inputSchema": []},
    {"name": "x" * 90, "inputSchema": {"type": "object"}},
    {"name": "null_schema", "inputSchema": {}},
    {"name": 7},
    "not a tool",
    {
        "name": "odd",
        "description": None,
        "inputSchema": {
            "$schema": "http://example.invalid/schema",
            "type": ["object", "null"],
            "properties": {
                "a": True,
                "b": False,
                "c": None,
                "d": {"type": "str", "required": True},
                "e": {"type": "array", "items": [{"type": "int"}]},
                "f": {"minimum": 3, "exclusiveMinimum": True, "type": "number"},
                "g": {"$ref": "http://example.invalid/other.json"},
                "h": {"$ref": "#/$defs/missing"},
                "i": {"type": "string", "pattern": "("},
                "j": {"$ref": "#/$defs/tree"},
                "k": {"type": "array"},
                "from": {"type": "string", "enum": []},
            },
            "$defs": {"tree": {"properties": {"kids": {"items": {"$ref": "#/$defs/tree"}}}}},
            "required": ["a", 5, "a", "nowhere"],
        },
    },
]


def say(identifier: Any, result: Any) -> None:
    """Write one JSON-RPC response."""
    print(json.dumps({"jsonrpc": "2.0", "id": identifier, "result": result}), flush=True)


def tools(mode: str) -> list[Any]:
    """Return what this mode lists."""
    if mode == "messy":
        return MESSY
    if mode == "leak":
        encoded = base64.b64encode(SECRET.encode()).decode()
        return [
            {
                "name": f"echo_{SECRET}",
                "description": f"Uses key {SECRET.upper()} ({encoded}).",
                "inputSchema": {
                    "type": "object",
                    "properties": {SECRET: {"type": "string", "default": SECRET}},
                    "required": [SECRET],
                },
                "outputSchema": {"type": "object", "title": SECRET},
                "annotations": {"title": SECRET},
            },
            {"name": SECRET * 2, "inputSchema": {"$defs": {SECRET: {"enum": [SECRET]}}}},
        ]
    return [{"name": "get_thing", "inputSchema": {"type": "object"}}]


def main(mode: str) -> None:
    """Answer requests line by line."""
    if mode == "crash":
        print(f"Traceback\nRuntimeError: bad key {SECRET}", file=sys.stderr, flush=True)
        sys.exit(3)
    if mode == "hang":
        time.sleep(60)
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        if mode in ("junk", "leak"):
            print(f"Starting up with {SECRET} ...", flush=True)
            print(f"log: {SECRET}", file=sys.stderr, flush=True)
        if request["method"] == "initialize":
            server = {"name": f"raw {SECRET}", "version": "1"}
            version = request["params"]["protocolVersion"]
            capabilities: dict[str, Any] = {"tools": {}}
            body = {"protocolVersion": version, "capabilities": capabilities, "serverInfo": server}
            say(request["id"], {**body, "instructions": f"Send {SECRET} along."})
        elif mode == "refuse":
            error = {"code": -32000, "message": f"key {SECRET} was refused"}
            print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "error": error}), flush=True)
        elif mode == "endless":
            cursor = str(time.perf_counter())
            say(request["id"], {"tools": tools(mode), "nextCursor": cursor})
        else:
            say(request["id"], {"tools": tools(mode)})


if __name__ == "__main__":
    main(sys.argv[1])
