"""What was made of a spec, kept by name: it is made once and never again."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Generic, TypeVar

import orjson
from pydantic import ValidationError

from components.records.base import Record, to_json
from components.records.frozen import canonical_json
from loop.config import STORE_FOLDER
from loop.ledger_files import write_file
from loop.synthesis.compiled import CompiledSpec

RecordT = TypeVar("RecordT", bound=Record)


class Kept(Generic[RecordT]):
    """Records of all runs by name. Several processes may read and write at the same time."""

    def __init__(self, runs_dir: str, folder: str, model: type[RecordT]) -> None:
        """Args: runs_dir: folder of all runs. folder: theirs below its store; it appears with the
        first of them. model: what they are.
        """
        self._folder = Path(runs_dir) / STORE_FOLDER / folder
        self._model = model

    def get(self, key: str) -> RecordT | None:
        """Return the record of this name; None where there is none, or a damaged one."""
        try:
            return self._model.model_validate(orjson.loads(self._path(key).read_bytes()))
        except (OSError, ValueError, ValidationError):
            return None  # whatever cannot be read is made anew

    def put(self, key: str, record: RecordT | Any) -> RecordT:
        """Keep a record, or its JSON, and return it as `get` will: with its keys in the file's
        order, so that what is made of it does not depend on who made it first.

        Raises:
            LedgerError: the machine refuses.
        """
        body = canonical_json(to_json(record) if isinstance(record, Record) else record)
        write_file(self._path(key), body, point="compiled")
        return self._model.model_validate(orjson.loads(body))

    def _path(self, key: str) -> Path:
        return self._folder / key[:2] / f"{key[2:]}.json"


def open_compilations(runs_dir: str) -> Kept[CompiledSpec]:
    """Return the compilations of all runs."""
    return Kept(runs_dir, "services", CompiledSpec)
