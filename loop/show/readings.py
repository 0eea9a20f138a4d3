"""What each tool of a compiled service was taken for, how sure that is, and what decided."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from components.environment.reading.records import ToolReading
from components.records.spec import ServiceSpec
from loop.plain_page import Page
from loop.synthesis.cache import open_compilations
from loop.synthesis.compiled import compilation_key


def show_readings(page: Page, spec: ServiceSpec, runs_dir: Path, why: Mapping[str, str]) -> None:
    """Add the readings of a service, from the compilation that is kept of its spec.

    Args:
        page: gets the lines.
        spec: of the service.
        runs_dir: folder of all runs, with the store of compilations.
        why: tool -> what decided on it, where that stands beside the spec.
    """
    page.heading("What each tool was taken for")
    known = open_compilations(str(runs_dir)).get(compilation_key(spec))
    if known is None and why:
        page.table([("tool", "rule"), *sorted(why.items())])
        return
    if known is None:
        page.line(
            "The compilation is not kept here, or was made by another version of the compiler; "
            "synthesize the same source again to see it."
        )
        return
    rows = [("tool", "read as", "decided by", "rule")]
    for name in sorted(spec.tools):
        reading = known.readings[name]
        rows.append((name, _taken_for(reading), _reasons(reading), known.why.get(name, "")))
    page.table(rows)


def _taken_for(reading: ToolReading) -> str:
    about = f" {reading.entity}" if reading.entity else ""
    return f"{reading.operation.value}{about}, {reading.confidence:.0%} sure"


def _reasons(reading: ToolReading) -> str:
    return "; ".join(reading.why[1:])
