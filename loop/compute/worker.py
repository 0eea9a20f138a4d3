"""A worker: bytes in, bytes out. Runs, and is tested, without any machinery around it.

Keeps the job that it opened last, so that a system is read and a model loaded once and not once a
unit. Holds no truth: whatever it has is in its arguments too, and what it returns is recorded by
who asked. An error is an answer as well; it crosses as text.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import traceback
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from functools import cache
from pathlib import Path
from typing import Any

import components.errors
from components.errors import ComputeError, UserError
from components.records.base import Record, to_json
from components.records.frozen import canonical_json
from loop.compute.jobs import Work, find_job

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("attribution", "components", "loop")


class Worker:
    """Works on units of one job at a time; several of them at once where they wait."""

    def __init__(self) -> None:
        self._opening = asyncio.Lock()
        self._opened = ""
        self._unit: type[Record] = Record
        self._work: Callable[[Any], Work] | None = None
        self._stack = AsyncExitStack()

    async def run(
        self, job: str, key: str, shared: Callable[[], Awaitable[bytes]], unit: bytes
    ) -> bytes:
        """Return the answer for one unit; `read_answer` reads it.

        Args:
            job: name of the job.
            key: names job and shared record; a new one closes what was open.
            shared: gives the canonical JSON of the shared record; asked for when the key is new.
            unit: canonical JSON of the unit.
        """
        try:
            async with self._opening:
                if key != self._opened:
                    await self.close()
                    opened = find_job(job)
                    record = opened.shared.model_validate(json.loads(await shared()))
                    self._work = await self._stack.enter_async_context(opened.open(record))
                    self._unit, self._opened = opened.unit, key
            assert self._work is not None
            body = await self._work(self._unit.model_validate(json.loads(unit)))
            return canonical_json({"done": body})
        except UserError as error:
            told = {"kind": type(error).__name__, "message": str(error)}
            return canonical_json({"error": told})
        except Exception:  # noqa: BLE001 - whoever asked raises it again, with this traceback
            return canonical_json({"traceback": traceback.format_exc()})

    async def close(self) -> None:
        """Close the job that is open, if any."""
        self._opened, self._work = "", None
        await self._stack.aclose()


def read_answer(answer: bytes, job: str) -> Any:
    """Return the body that a worker answered.

    Raises:
        UserError: what the job raised in the worker, of the same type.
        RuntimeError: our own mistake, with the worker's traceback in it.
    """
    told = json.loads(answer)
    if "done" in told:
        return told["done"]
    if "traceback" in told:
        raise RuntimeError(f"the job '{job}' failed in a worker:\n{told['traceback']}")
    kind = getattr(components.errors, told["error"]["kind"], ComputeError)
    raise kind(told["error"]["message"])


def as_bytes(record: Record) -> bytes:
    """Return a record as a worker reads it."""
    return canonical_json(to_json(record))


@cache
def code_version() -> str:
    """Return the hash of this program's files, so that no worker runs another version of it."""
    digest = hashlib.sha256()
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*")):
            if path.suffix in (".py", ".json", ".j2"):
                digest.update(f"{path.relative_to(ROOT).as_posix()}\0".encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()
