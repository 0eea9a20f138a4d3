"""Measurements of the shelf server, for the tests beside this file."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from components.environment.fidelity.document import read_measurement
from components.environment.fidelity.records import FidelityReport, ToolFidelity, Verdict
from components.environment.fidelity.run import measure

SERVER = Path(__file__).parents[2] / "servers" / "shelf_server.py"
LIFE: list[dict[str, Any]] = [
    {"tool": "create_book", "arguments": {"title": "The Loom", "author": "Ada"}},
    {"tool": "get_book", "arguments": {"book_id": "$1.id"}},
    {"tool": "list_books"},
    {"tool": "update_book", "arguments": {"book_id": "$1.id", "title": "The Shuttle"}},
    {"tool": "get_book", "arguments": {"book_id": "$1.id"}},
    {"tool": "delete_book", "arguments": {"book_id": "$1.id"}},
    {"tool": "get_book", "arguments": {"book_id": "$1.id"}},
    {"tool": "list_books"},
    {"tool": "get_book", "arguments": {"book_id": "book-99"}},
]


def shelf(fault: str = "") -> dict[str, Any]:
    """Return the shelf server as a client's file has it."""
    env = {"SHELF": "{tmp}/books.json"}
    return {"command": sys.executable, "args": [str(SERVER), fault], "env": env, "cwd": "{tmp}"}


def written(folder: Path, **keys: Any) -> Path:
    """Write a measurement's file."""
    path = folder / "fidelity.json"
    path.write_text(json.dumps(keys), encoding="utf-8")
    return path


async def measured(path: Path, rounds: int = 1) -> FidelityReport:
    """Measure what a file asks for."""
    return await measure(read_measurement(path), 0, rounds, lambda _n, _of: None)


def tools_of(report: FidelityReport) -> dict[str, ToolFidelity]:
    """Return the tools of the only server."""
    (service,) = report.services.values()
    return dict(service.tools)


def unfaithful(report: FidelityReport) -> dict[str, str]:
    """Return the tools that are, with the counts that failed."""
    found = tools_of(report).items()
    return {name: tool.why for name, tool in found if tool.verdict is Verdict.UNFAITHFUL}
