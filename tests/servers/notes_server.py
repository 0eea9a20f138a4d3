"""A small real MCP server over stdio: notes in memory, a web search, and one messy tool. Lists in
two pages.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

NOTE_ID = {"note_id": {"type": "string", "description": "Id of the note"}}
TITLE = {"type": "string", "description": "Title of the note"}
BODY = {"type": "string", "description": "Text of the note"}
STATUS = {"type": "string", "enum": ["draft", "final"]}


def schema(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    """Return an object schema that takes no other properties."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


MESSY: dict[str, Any] = {
    "type": "object",
    "$defs": {
        "Node": {
            "type": "object",
            "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/Node"}}},
        }
    },
    "properties": {
        "tree": {"$ref": "#/$defs/Node"},
        "class": True,
        "dry-run": {"type": ["boolean", "null"]},
        "rows": {"type": "array"},
    },
}

FIRST_PAGE = [
    types.Tool(
        name="create_note",
        description="Create a note.",
        input_schema=schema(
            {
                "title": TITLE,
                "body": BODY,
                "status": {**STATUS, "default": "draft"},
                "tags": {"type": "array", "items": {"type": "string"}},
            },
            "title",
            "body",
        ),
    ),
    types.Tool(
        name="get_note",
        description="Get one note by its id.",
        input_schema=schema(NOTE_ID, "note_id"),
        annotations=types.ToolAnnotations(read_only_hint=True),
    ),
    types.Tool(
        name="list_notes",
        description="List notes, filtered by status.",
        input_schema=schema({"status": STATUS, "limit": {"type": "integer", "minimum": 1}}),
    ),
    types.Tool(
        name="search_notes",
        description="Search notes whose title or body contains the query.",
        input_schema=schema({"query": {"type": "string"}}, "query"),
    ),
]
SECOND_PAGE = [
    types.Tool(
        name="update_note",
        description="Update the title, body or status of a note.",
        input_schema=schema({**NOTE_ID, "title": TITLE, "body": BODY, "status": STATUS}, "note_id"),
    ),
    types.Tool(
        name="add_tag",
        description="Add a tag to a note.",
        input_schema=schema({**NOTE_ID, "tag": {"type": "string"}}, "note_id", "tag"),
    ),
    types.Tool(
        name="delete_note",
        description="Delete a note.",
        input_schema=schema(NOTE_ID, "note_id"),
    ),
    types.Tool(
        name="search_web",
        description="Search the web and return live results.",
        input_schema=schema({"query": {"type": "string"}}, "query"),
    ),
    types.Tool(name="import.notes tree", description="Import a tree.", input_schema=MESSY),
]

notes: dict[str, dict[str, Any]] = {}


async def list_tools(
    _context: Any, params: types.PaginatedRequestParams | None
) -> types.ListToolsResult:
    """Answer `tools/list`, one page at a time."""
    if params is not None and params.cursor == "second":
        return types.ListToolsResult(tools=SECOND_PAGE)
    return types.ListToolsResult(tools=FIRST_PAGE, next_cursor="second")


async def call_tool(_context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
    """Answer the calls that the tests make."""
    arguments = params.arguments or {}
    if params.name == "create_note":
        note_id = f"note_{len(notes) + 1}"
        notes[note_id] = {"id": note_id, "status": "draft", **arguments}
        return _answer(notes[note_id])
    if params.name == "get_note" and arguments.get("note_id") in notes:
        return _answer(notes[arguments["note_id"]])
    return types.CallToolResult(
        content=[types.TextContent(type="text", text="not found")], is_error=True
    )


def _answer(body: dict[str, Any]) -> types.CallToolResult:
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=json.dumps(body))], structured_content=body
    )


def notes_server() -> Server[Any]:
    """Return the server, not yet connected."""
    return Server("notes", on_list_tools=list_tools, on_call_tool=call_tool)


async def main() -> None:
    """Serve until stdin closes."""
    server = notes_server()
    async with stdio_server() as (read_stream, write_stream):
        await server.run(read_stream, write_stream, server.create_initialization_options())


if __name__ == "__main__":
    asyncio.run(main())
