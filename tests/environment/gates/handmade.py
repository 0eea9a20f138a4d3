"""Small servers written by hand, with readings that are right, for tests of the gates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from components.environment.compiler.compile import compile_spec
from components.environment.sources.listing import spec_from_listing
from components.records.blueprint import Blueprint, SeedData
from components.records.spec import ServiceSpec
from tests.environment.gates.labelled import label_readings
from tests.environment.gates.sabotage import Subject

TEXT: Mapping[str, Any] = {"type": "string"}
NUMBER: Mapping[str, Any] = {"type": "integer", "minimum": 1}
STATUS: Mapping[str, Any] = {"type": "string", "enum": ["open", "done", "blocked"]}

Row = tuple[str, str, str, str | None, dict[str, Any], str, str]
"""Name, operation, entity, parent, properties, required names, identifiers."""

NOTES: tuple[Row, ...] = (
    ("create_note", "create", "note", None, {"title": TEXT, "body": TEXT}, "title body", ""),
    ("get_note", "get", "note", None, {"note_id": TEXT}, "note_id", "note_id"),
    ("list_notes", "list", "note", None, {"limit": NUMBER, "cursor": TEXT}, "", ""),
    ("search_notes", "search", "note", None, {"query": TEXT, "limit": NUMBER}, "query", ""),
    ("update_note", "update", "note", None, {"note_id": TEXT, "title": TEXT, "body": TEXT},
     "note_id", "note_id"),
    ("delete_note", "delete", "note", None, {"note_id": TEXT}, "note_id", "note_id"),
    ("archive_note", "transition", "note", None, {"note_id": TEXT}, "note_id", "note_id"),
    ("add_comment", "append", "comment", "note", {"note_id": TEXT, "text": TEXT},
     "note_id text", "note_id"),
    ("list_comments", "list", "comment", None, {"note_id": TEXT}, "note_id", "note_id"),
)  # fmt: skip

TASKS: tuple[Row, ...] = (
    ("create_project", "create", "project", None, {"name": TEXT, "description": TEXT},
     "name", ""),
    ("list_projects", "list", "project", None, {}, "", ""),
    ("get_project", "get", "project", None, {"project_id": TEXT}, "project_id", "project_id"),
    ("create_task", "create", "task", None,
     {"project_id": TEXT, "title": TEXT, "status": STATUS, "estimate": NUMBER},
     "project_id title", ""),
    ("list_tasks", "list", "task", None,
     {"status": STATUS, "sort_by": {"type": "string", "enum": ["title", "estimate"]},
      "order": {"type": "string", "enum": ["asc", "desc"]}, "limit": NUMBER,
      "offset": {"type": "integer", "minimum": 0}}, "", ""),
    ("get_task", "get", "task", None, {"task_id": TEXT}, "task_id", "task_id"),
    ("update_task", "update", "task", None,
     {"task_id": TEXT, "title": TEXT, "status": STATUS, "estimate": NUMBER},
     "task_id", "task_id"),
    ("delete_task", "delete", "task", None, {"task_id": TEXT}, "task_id", "task_id"),
    ("complete_task", "transition", "task", None, {"task_id": TEXT}, "task_id", "task_id"),
)  # fmt: skip

CODE: tuple[Row, ...] = (
    ("get_repository", "get", "repository", None, {"owner": TEXT, "repo": TEXT},
     "owner repo", "owner repo"),
    ("list_repositories", "list", "repository", None, {"owner": TEXT}, "", ""),
    ("create_issue", "create", "issue", None, {"title": TEXT, "body": TEXT}, "title", ""),
    ("get_issue", "get", "issue", None, {"issue_id": {"type": "integer"}}, "issue_id",
     "issue_id"),
    ("list_issues", "list", "issue", None, {"page": NUMBER, "per_page": NUMBER}, "", ""),
    ("edit_issue", "update", "issue", None,
     {"issue_id": {"type": "integer"}, "title": TEXT, "body": TEXT}, "issue_id", "issue_id"),
    ("close_issue", "transition", "issue", None, {"issue_id": {"type": "integer"}}, "issue_id",
     "issue_id"),
)  # fmt: skip

TOLD = {
    "create": "Create a new {}.",
    "get": "Get one {}.",
    "list": "List all {}s.",
    "search": "Search {}s by text.",
    "update": "Update the fields of a {}.",
    "delete": "Delete a {}.",
    "transition": "",
    "append": "Add a {} to a record.",
}
SERVERS: Mapping[str, tuple[Row, ...]] = {"notes": NOTES, "tasks": TASKS, "code": CODE}


def subject(name: str) -> Subject:
    """Return one of the servers with its readings."""
    listed, labels = [], {}
    for tool, operation, entity, parent, properties, required, ids in SERVERS[name]:
        schema = {
            "type": "object",
            "properties": {part: dict(body) for part, body in properties.items()},
            "required": required.split(),
        }
        told = TOLD[operation].format(entity)
        listed.append({"name": tool, "description": told, "inputSchema": schema})
        labels[tool] = {
            "operation": operation,
            "functional": "read" if operation in ("get", "list", "search") else "write",
            "deterministic": True,
            "entity": entity,
            "parent": parent,
            "identifier": ids.split(),
            "difficulty": 3,
        }
    spec = spec_from_listing(name, listed).spec
    return Subject(spec=spec, readings=label_readings(spec, labels), judged=frozenset(labels))


def compiled(name: str) -> tuple[ServiceSpec, Blueprint, SeedData]:
    """Return one of the servers compiled."""
    made = subject(name)
    blueprint, seed, _ = compile_spec(made.spec, made.readings)
    return made.spec, blueprint, seed
