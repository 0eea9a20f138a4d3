"""Content-addressed store of JSON bodies, shared by all runs under one `runs_dir`.

A body lies at `<folder>/ab/cdef....json`, where `abcdef...` is the SHA-256 of its canonical bytes:
what is read is checked against its own name, writing twice is writing once, and several processes
may write at the same time. Nothing is ever changed or removed here.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from components.errors import LedgerError
from components.records.frozen import canonical_json
from loop.ledger_files import damaged, write_file


class Store:
    """The bodies under one folder, which appears with the first of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path_of(self, key: str) -> Path:
        """Return where the body of this hash lies."""
        return self.folder / key[:2] / f"{key[2:]}.json"

    def put(self, body: Any) -> str:
        """Keep a JSON body and return its hash. A damaged file of the same name is written anew.

        Raises:
            LedgerError: the file cannot be written.
        """
        data = canonical_json(body)
        key = hashlib.sha256(data).hexdigest()
        path = self.path_of(key)
        if not path.is_file() or self._read(path) != data:
            write_file(path, data, point="store.put")
        return key

    def get(self, key: str) -> Any:
        """Return the body of a hash, as plain JSON.

        Raises:
            LedgerError: the file is missing, or its bytes are not those that its name stands for.
        """
        path = self.path_of(key)
        data = self._read(path)
        found = hashlib.sha256(data).hexdigest()
        if found != key:
            raise damaged(
                path,
                f"its bytes have hash {found[:12]}",
                "restore it from a copy, or remove it and give run= another name",
            )
        return json.loads(data)

    def _read(self, path: Path) -> bytes:
        try:
            return path.read_bytes()
        except FileNotFoundError:
            raise LedgerError(
                f"{path} is missing from the store; restore it from a copy, "
                "or give run= another name"
            ) from None
        except OSError as error:
            raise damaged(path, error.strerror or str(error)) from error
