"""A file of traces, whatever it is written in."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

from attribution.foreign.openai import read_openai
from attribution.foreign.otel import read_otel
from attribution.foreign.reading import MAX_TRACES, refuse_large, unreadable
from attribution.foreign.records import ForeignTrace
from attribution.foreign.tau2 import read_tau2, read_tau2_tasks
from components.errors import ConfigError

Format = Literal["openai", "otel", "tau2"]
READERS: dict[Format, Callable[[Path], Iterator[ForeignTrace]]] = {
    "openai": read_openai,
    "otel": read_otel,
    "tau2": read_tau2,
}
_HEAD = 1_000_000
"""Characters of a file's beginning by which its format is told."""
_SIGNS: tuple[tuple[Format, tuple[str, ...]], ...] = (
    ("tau2", ('"simulations"',)),
    ("otel", ('"resourceSpans"', '"resource_spans"', "gen_ai.operation.name")),
    ("openai", ('"messages"',)),
)


def read_traces(path: Path, written_in: Format | None) -> tuple[ForeignTrace, ...]:
    """Return the traces of a file, each with a name of its own.

    Args:
        path: the file.
        written_in: its format; None: what it looks like.

    Raises:
        ConfigError: it cannot be read, or is of no known format, or holds no trace.
    """
    found: list[ForeignTrace] = []
    names: dict[str, int] = {}
    chosen = written_in or guess_format(path)
    for trace in READERS[chosen](path):
        if len(found) == MAX_TRACES:
            raise ConfigError(f"traces: {path} holds more than {MAX_TRACES} traces; split it")
        count = names[trace.trace_id] = names.get(trace.trace_id, 0) + 1
        if count > 1:
            trace = trace.model_copy(update={"trace_id": f"{trace.trace_id}-{count}"})
        found.append(trace)
    if not found:
        raise ConfigError(f"traces: {path} holds no trace in the form of {chosen}; set format=")
    return tuple(found)


def carried_tasks(path: Path, written_in: Format | None) -> list[dict[str, Any]]:
    """Return the tasks that a file of traces carries, as their benchmark writes them.

    Args:
        path: the file.
        written_in: its format; None: what it looks like.

    Raises:
        ConfigError: it cannot be read, or is of no known format.
    """
    return read_tau2_tasks(path) if (written_in or guess_format(path)) == "tau2" else []


def guess_format(path: Path) -> Format:
    """Return what a file of traces looks like.

    Raises:
        ConfigError: it cannot be read, or looks like none.
    """
    refuse_large(path)
    try:
        with path.open(encoding="utf-8-sig") as file:
            head = file.read(_HEAD)
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(path, error) from None
    line = head.lstrip().partition("\n")[0]
    try:
        first = json.loads(line)
    except (ValueError, RecursionError):
        first = None
    if isinstance(first, dict):
        if "messages" in first:
            return "openai"
        if "attributes" in first or "resourceSpans" in first or "resource_spans" in first:
            return "otel"
        if "simulations" in first:
            return "tau2"
    for name, signs in _SIGNS:
        if first is None and any(sign in head for sign in signs):
            return name
    raise ConfigError(f"traces: {path} looks like no known format; set format=openai, otel or tau2")
