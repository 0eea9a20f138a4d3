"""The file that `out=` names: known to be writable before the work begins, written at its end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from components.errors import ConfigError
from loop.ledger_files import why_unwritable, write_file


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
    why = why_unwritable(path.parent)
    if why:
        raise ConfigError(
            f"out cannot be written (got '{out}': {why}); set out to a file in a folder that can "
            "be written"
        )


def write_result(out: str, result: Any) -> None:
    """Write the figures as JSON for programs and people.

    Raises:
        LedgerError: the machine refuses, after all.
    """
    body = json.dumps(result, indent=2, sort_keys=True) + "\n"
    write_file(Path(out), body.encode(), point="out")
