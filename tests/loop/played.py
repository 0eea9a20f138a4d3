"""A folder of runs that several verbs look at: finished rounds, one that was interrupted, and a
seed system with a service from outside."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import sqlite3
from pathlib import Path
from typing import Any

from loop.config import RunConfig
from loop.console import Console
from loop.round import evolve
from tests.loop.configs import run_config

SMALL = (
    "policy=scripted",
    "tracking=none",
    "scale=smoke",
    "task.count=4",
    "grow.tasks=0",
    "environment.services=[helpdesk,directory,mail]",
)
LISTING = {
    "tools": [
        {
            "name": name,
            "description": description,
            "inputSchema": {"type": "object", "properties": properties, "required": required},
        }
        for name, description, properties, required in (
            (
                "create_note",
                "Create a note.",
                {"title": {"type": "string"}, "body": {"type": "string"}},
                ["title", "body"],
            ),
            (
                "get_note",
                "Get a note by id.",
                {"note_id": {"type": "string", "description": "Id of the note"}},
                ["note_id"],
            ),
            ("list_notes", "List all notes.", {}, []),
            (
                "update_note",
                "Update a note.",
                {
                    "note_id": {"type": "string", "description": "Id of the note"},
                    "title": {"type": "string"},
                    "body": {"type": "string"},
                },
                ["note_id"],
            ),
            (
                "delete_note",
                "Delete a note.",
                {"note_id": {"type": "string", "description": "Id of the note"}},
                ["note_id"],
            ),
            ("web_search", "Search the web.", {"query": {"type": "string"}}, ["query"]),
        )
    ]
}
"""A saved `tools/list` answer; the search is external, so it cannot be compiled."""


class Interrupts(Console):
    """Presses Ctrl-C once some verdicts are there."""

    def progress(self, stage: str, done: int, total: int, *_more: Any, **_named: Any) -> None:
        """Raise in the middle of the attribution."""
        if stage == "attribute" and done == 2:
            raise KeyboardInterrupt


def config_of(runs_dir: Path, *overrides: str) -> RunConfig:
    """Return the configuration of a small round in this folder."""
    return run_config(f"runs_dir='{runs_dir}'", *SMALL, *overrides)


def play_rounds(runs_dir: Path) -> Path:
    """Run rounds 1 and 2 of run `a`, round 1 of the clean run `b`, half a round of run `c`, and the
    seed round of run `d`."""
    runs_dir.mkdir(parents=True)
    listing = runs_dir.parent / "notes.json"
    listing.write_text(json.dumps(LISTING))
    with open(os.devnull, "w") as silence:
        for overrides in (
            ("run=a", "+round=1"),
            ("run=a", "+round=2"),
            ("run=b", "+round=1", "faults=none"),
            ("run=d", "+round=0", "task.count=1", f"environment.mcp_config='{listing}'"),
        ):
            evolve(config_of(runs_dir, *overrides), Console(silence))
        shutil.copytree(runs_dir / "a" / "round-0000", runs_dir / "c" / "round-0000")
        with contextlib.suppress(KeyboardInterrupt):
            evolve(config_of(runs_dir, "run=c", "+round=1"), Interrupts(silence))
    return runs_dir


def files_of(folder: Path) -> dict[str, tuple[int, str]]:
    """Return when each file was written last, and its content's hash."""
    return {
        str(path.relative_to(folder)): (
            path.stat().st_mtime_ns,
            hashlib.sha256(path.read_bytes()).hexdigest(),
        )
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def unit_bodies(runs_dir: Path, run: str, number: int, stage: str) -> dict[str, Any]:
    """Return what is recorded of a stage, read past the program."""
    path = runs_dir / run / f"round-{number:04d}" / "units.sqlite"
    database = sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)
    with contextlib.closing(database):
        rows = database.execute("SELECT key, body FROM units WHERE stage = ?", (stage,)).fetchall()
    return {key: json.loads(body) for key, body in sorted(rows)}
