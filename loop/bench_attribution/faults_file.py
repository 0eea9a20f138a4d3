"""Faults that somebody else wrote: one JSON object a line, a JSON Patch on one artifact and its
label.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from attribution.change import Change, bind
from attribution.swap import owner_of, swap
from components.errors import ConfigError, SynthesisError
from components.records.base import Record
from components.records.patch import Component, Patch, PatchOperation
from components.records.system import System


class WrittenFault(Record):
    """One line of a file of faults."""

    kind: str
    """Name of the kind; figures are given by it."""
    component: Component
    artifact: str
    """`blueprint/<service>`, `seed/<service>`, `reactions`, `harness`, `settings`, `task/<id>` or
    `rubric/<id>`.
    """
    operations: tuple[PatchOperation, ...]
    """`add`, `replace` and `remove` of RFC 6902; a `test` is made for each."""
    place: str = ""
    """JSON Pointer of what is wrong; empty: the first operation's path."""
    statement: str = ""
    """What is wrong, in one sentence."""


def read_faults(path: str, system: System) -> Iterator[tuple[str, Patch]]:
    """Yield kind and patch of every fault of a file.

    Raises:
        ConfigError: the file cannot be read, a line is no fault, or a fault does not apply to the
            benchmark's system; the message names the line.
    """
    try:
        text = Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"faults={path} cannot be read ({error}); set faults to builtin or to a JSONL file"
        ) from error
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            yield _fault(f"{path}:{number}", line, system)


def _fault(where: str, line: str, system: System) -> tuple[str, Patch]:
    try:
        body: Any = json.loads(line)
        fault = WrittenFault.model_validate(body)
    except (ValueError, ValidationError) as error:
        raise ConfigError(
            f"{where} is no fault: {_first(error)}; docs/faults.md has the form"
        ) from error
    steps = tuple((one.op, one.path, one.value) for one in fault.operations if one.op != "test")
    try:
        if owner_of(fault.artifact) is not fault.component:
            raise SynthesisError(f"{fault.artifact} belongs to another component")
        pointer = fault.place or (steps[0][1] if steps else "")
        change = Change(
            artifact=fault.artifact,
            operations=steps,
            reason=fault.statement or fault.kind,
            place=f"{fault.artifact}#{pointer}",
        )
        patch = bind(system, change)
        swap(system, patch)
    except SynthesisError as error:
        raise ConfigError(f"{where} does not apply: {error}; mend it or leave it out") from error
    return fault.kind, patch


def _first(error: Exception) -> str:
    if isinstance(error, ValidationError):
        item = error.errors()[0]
        return f"{'.'.join(map(str, item['loc']))}: {item['msg']}"
    return str(error)
