"""A small code service of notes and tags, written by hand, and the spec that it fits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from components.environment.sandbox.code_service import Described, describe_sources
from components.environment.sandbox.workers import Workers
from components.records.blueprint import Blueprint, SeedData
from components.records.frozen import FrozenDict, freeze
from components.records.spec import ServiceSpec, ToolSpec

SOURCE = """
from typing import Literal
from service_kit import Refuse, Row, Timestamp, field, tool


class Note(Row, table="note", prefix="nt"):
    id: str
    title: str
    status: Literal["open", "done"] = "open"
    tags: list[str] = []
    created_at: Timestamp = field(generated=True)
    closed_at: Timestamp | None = None


SEED = [Note(id="nt_seed", title="Milk", created_at="2026-01-01T08:00:00Z")]


@tool("create_note", "create")
def create_note(state, args):
    note = state.table(Note).add(
        title=args["title"], tags=args.get("tags", []), created_at=state.now
    )
    return {"note": note}


@tool("get_note", "get")
def get_note(state, args):
    return {"note": state.table(Note).need(args["id"])}


@tool("list_notes", "list")
def list_notes(state, args):
    rows = state.table(Note).where(**({"status": args["status"]} if "status" in args else {}))
    return {"notes": rows, "total": len(rows)}


@tool("close_note", "transition")
def close_note(state, args):
    notes = state.table(Note)
    note = notes.need(args["id"])
    if note.status == "done":
        raise Refuse("precondition_failed", "it is closed", rule="open")
    return {"note": notes.change(note, status="done", closed_at=state.now)}


@tool("delete_note", "delete")
def delete_note(state, args):
    notes = state.table(Note)
    notes.delete(notes.need(args["id"]))
    return {"deleted": True}
"""


def schema(required: tuple[str, ...] = (), **properties: Mapping[str, Any]) -> dict[str, Any]:
    """A closed object schema."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


TEXT = {"type": "string", "minLength": 1}


def notes_spec(*more: str) -> ServiceSpec:
    """The notes spec, with further tools that take nothing."""
    tools = {
        "create_note": schema(("title",), title=TEXT, tags={"type": "array", "items": TEXT}),
        "get_note": schema(("id",), id=TEXT),
        "list_notes": schema(status={"type": "string", "enum": ["open", "done"]}),
        "close_note": schema(("id",), id=TEXT),
        "delete_note": schema(("id",), id=TEXT),
        **{name: schema() for name in more},
    }
    return ServiceSpec(
        service="notes",
        title="Notes",
        tools=FrozenDict(
            {
                name: ToolSpec(
                    name=name, description=name.replace("_", " "), input_schema=freeze(s)
                )
                for name, s in tools.items()
            }
        ),
    )


EMPTY = Blueprint(service="notes", entities=FrozenDict(), tools=FrozenDict())
NO_ROWS = SeedData(service="notes", tables=FrozenDict())


def described(workers: Workers, source: str = SOURCE, *more: str) -> Described:
    """The notes service as the sandbox describes it."""
    return describe_sources(notes_spec(*more), {"service.py": source}, EMPTY, NO_ROWS, workers)
