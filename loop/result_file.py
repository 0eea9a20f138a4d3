"""The file that `out=` names: known to be writable before the work begins, written at its end."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from components.errors import ConfigError
from loop.ledger_files import write_file


def check_result_file(out: str | None) -> None:
    """Refuse a file that could not be written once the work is done.

    Raises:
        ConfigError: it is a folder, or would lie under something that is none, or may not be
            written.
    """
    if out is None:
        return
    path = Path(out)
    if path.is_dir() or out.endswith("/"):
        raise ConfigError(f"out must name a file (got the folder '{out}'); set out=result.json")
    folder = path.parent
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        raise ConfigError(
            f"out cannot be written under '{folder}' (got '{out}'); set out to a file in a folder "
            "that can be written"
        )


def write_result(out: str, result: Any) -> None:
    """Write the figures as JSON for programs and people.

    Raises:
        LedgerError: the machine refuses, after all.
    """
    body = json.dumps(result, indent=2, sort_keys=True) + "\n"
    write_file(Path(out), body.encode(), point="out")
