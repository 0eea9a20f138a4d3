"""Compilations kept by name: a spec that was compiled once is never compiled again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
from pydantic import ValidationError

from components.records.base import to_json
from components.records.frozen import canonical_json
from loop.config import STORE_FOLDER
from loop.ledger_files import write_file
from loop.synthesis.compiled import CompiledSpec

_FOLDER = "services"
"""Folder of the cache under `runs_dir/store`."""


class Compilations:
    """The compilations of all runs. Several processes may read and write at the same time."""

    def __init__(self, runs_dir: str) -> None:
        """Args: runs_dir: folder of all runs; the cache's own appears with the first of them."""
        self._folder = Path(runs_dir) / STORE_FOLDER / _FOLDER

    def get(self, key: str) -> CompiledSpec | None:
        """Return the compilation of this name; None where there is none, or a damaged one."""
        try:
            return CompiledSpec.model_validate(orjson.loads(self._path(key).read_bytes()))
        except (OSError, ValueError, ValidationError):
            return None  # whatever cannot be read is compiled anew

    def put(self, key: str, compiled: CompiledSpec | Any) -> None:
        """Keep a compilation.

        Raises:
            LedgerError: the machine refuses.
        """
        body = to_json(compiled) if isinstance(compiled, CompiledSpec) else compiled
        write_file(self._path(key), canonical_json(body), point="compiled")

    def _path(self, key: str) -> Path:
        return self._folder / key[:2] / f"{key[2:]}.json"
