"""A trained policy on disk: one delta file in a folder of its round, checked against its hash.

The hash is part of the result of the stage that made it; a file that is not what was kept is
refused, never loaded.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from components.errors import LedgerError
from loop.ledger_files import damaged, write_file

DELTA = "delta.safetensors"


def keep_policy(folder: Path, data: bytes) -> str:
    """Write a delta's file into its folder and return its hash.

    Raises:
        LedgerError: the machine refuses.
    """
    write_file(folder / DELTA, data, point="policy")
    return hashlib.sha256(data).hexdigest()


def kept_policy(folder: Path, sha256: str) -> Path:
    """Return the delta file of a folder, once its bytes are found to be those that were kept.

    Raises:
        LedgerError: it is missing, or another.
    """
    path = folder / DELTA
    try:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise LedgerError(
            f"{path} cannot be read ({error.strerror or error}); restore it from a copy, or give "
            "run= another name"
        ) from error
    if found != sha256:
        raise damaged(
            path,
            f"its bytes have hash {found[:12]}, {sha256[:12]} was kept",
            "restore it from a copy, or give run= another name",
        )
    return path
