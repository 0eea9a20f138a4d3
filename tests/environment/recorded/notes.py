"""A recording of a server of notes that answers in prose, for the tests beside this file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

TEXT = {"type": "string"}
Lines = list[tuple[str, dict[str, Any], Any]]
"""Tool, arguments, answer: a text, or JSON that is structured content."""


def tool(name: str, description: str, required: list[str], /, **properties: Any) -> dict[str, Any]:
    """Return one tool of a listing."""
    schema = {"type": "object", "properties": properties, "required": required}
    return {"name": name, "description": description, "inputSchema": schema}


TOOLS = [
    tool("create_note", "Create a note.", ["name", "text"], name=TEXT, text=TEXT),
    tool("get_note", "Get a note by its name.", ["name"], name=TEXT),
    tool("list_notes", "List all notes.", []),
    tool("update_note", "Update the text of a note.", ["name", "text"], name=TEXT, text=TEXT),
    tool("delete_note", "Delete a note.", ["name"], name=TEXT),
]
PROSE: Lines = [
    ("create_note", {"name": "milk", "text": "buy two"}, "Saved the note 'milk'."),
    ("create_note", {"name": "looms", "text": "oil them"}, "Saved the note 'looms'."),
    ("get_note", {"name": "milk"}, "buy two"),
    ("list_notes", {}, "* looms\n* milk"),
    ("delete_note", {"name": "milk"}, "Deleted 'milk'."),
]


def recorded(path: Path, *sequences: Lines, server: str = "notes", tools: Any = TOOLS) -> Path:
    """Write a recording."""
    lines: list[dict[str, Any]] = [{"server": server, "tools": tools}]
    for number, calls in enumerate(sequences, start=1):
        for name, arguments, answer in calls:
            is_text = isinstance(answer, str)
            body = {
                "is_error": False,
                "structured": None if is_text else answer,
                "text": answer if is_text else json.dumps(answer),
            }
            lines.append(
                {
                    "server": server,
                    "sequence": number,
                    "tool": name,
                    "arguments": arguments,
                    "answer": body,
                }
            )
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path
