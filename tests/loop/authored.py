"""A listing of two servers, one of which the compiler leaves something to do in, and its code."""

from __future__ import annotations

import json
from pathlib import Path

from tests.environment.author.scripted import GOOD
from tests.environment.sandbox.notes import TEXT, notes_spec, schema

NOTES = ("create_note", "get_note", "list_notes")
TAG = {
    "name": "tag_note",
    "description": "Add a tag to a note",
    "inputSchema": schema(("id", "tag"), id=TEXT, tag=TEXT),
}
"""A tool that the compiler quarantines: nothing says where a tag goes."""
CODE = (
    GOOD
    + """
@tool("tag_note", "update")
def tag_note(state, args):
    notes = state.table(Note)
    note = notes.need(args["id"])
    return {"note": notes.change(note, tags=[*note.tags, args["tag"]])}
"""
)
"""All four tools."""


def listed_specs(folder: Path) -> str:
    """Write the listing and return the overrides that name it."""
    tools = [
        {
            "name": name,
            "description": tool.description,
            "inputSchema": json.loads(json.dumps(tool.input_schema, default=dict)),
        }
        for name, tool in notes_spec().tools.items()
    ]
    plain = [tool for tool in tools if tool["name"] in NOTES]
    lines = [{"server": "Plain", "tools": tools}, {"server": "Notes", "tools": [*plain, TAG]}]
    path = folder / "specs.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return f"environment.sources=[{{kind: jsonl, path: '{path}'}}]"
