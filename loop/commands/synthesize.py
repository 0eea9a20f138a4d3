"""Make services of specifications: read, compile, seed and gate them, and say what came of each.

    python -m loop synthesize 'environment.sources=[{kind: jsonl, path: specs.jsonl}]' out=services
    python -m loop synthesize environment.mcp_config=mcp.json

With `out`, each service is a folder: its spec, blueprint, seed and card, and what decided on each
of its tools.
"""

from __future__ import annotations

import asyncio
import datetime
import sys
from pathlib import Path

from components.environment.sources.listed import ListedServer
from components.environment.sources.read import read_sources
from components.errors import ConfigError, SpecError
from components.records.base import to_json
from loop.compute.pool import open_pool
from loop.config import SynthesizeConfig
from loop.console import Console
from loop.ledger_files import pretty_json, write_file
from loop.plain_page import Page
from loop.services import sources_of
from loop.synthesis.cache import Compilations
from loop.synthesis.compiled import CompiledSpec
from loop.synthesis.run import synthesize


def main(config: SynthesizeConfig) -> None:
    """Compile every server of the sources, show a table, and write the services where asked."""
    settings = config.environment
    sources = sources_of(settings)
    if not sources:
        raise ConfigError(
            "synthesize needs a source; set environment.mcp_config=mcp.json or "
            "'environment.sources=[{kind: jsonl, path: specs.jsonl}]'"
        )
    console = Console(sys.stderr)
    day = datetime.date.today().isoformat()
    listed = asyncio.run(read_sources(sources, settings.timeout_seconds, date=day))
    specs = [server.spec for server in listed if server.spec is not None]
    cache = Compilations(config.runs_dir)
    with open_pool(config.compute, console.line) as pool:
        made = synthesize(specs, cache, pool, lambda n, of: console.progress("services", n, of))
    by_name = {service.spec.service: service for service in made.services}
    if config.out is not None:
        for server in listed:
            if server.spec is not None:
                _write(Path(config.out), server, by_name[server.spec.service])
    print(_table(listed, by_name).text())
    if not specs:
        raise SpecError(
            "none of the servers could be listed; the table says why of each: mend them, or name "
            "other sources"
        )
    if config.out is not None:
        print(config.out)


def _write(folder: Path, server: ListedServer, service: CompiledSpec) -> None:
    name = service.spec.service
    parts = {
        "spec": to_json(service.spec),
        "blueprint": to_json(service.blueprint),
        "seed": to_json(service.seed),
        "card": None if server.card is None else to_json(server.card),
        "tools": {tool: service.why.get(tool, "") for tool in sorted(service.spec.tools)},
    }
    for part, body in parts.items():
        if body is not None:
            write_file(folder / name / f"{part}.json", pretty_json(body), point="service")


def _table(listed: tuple[ListedServer, ...], services: dict[str, CompiledSpec]) -> Page:
    page = Page()
    rows = [("service", "tools", "deterministic", "simulated", "quarantined", "why not admitted")]
    for server in listed:
        if server.spec is None:
            rows.append((server.name, "-", "-", "-", "-", server.error))
            continue
        service = services[server.spec.service]
        tools = service.blueprint.tools.values()
        drawn = sum(tool.simulated for tool in tools)
        rows.append(
            (
                service.spec.service,
                str(len(service.spec.tools)),
                str(len(tools) - drawn),
                str(drawn),
                str(len(service.blueprint.quarantined)),
                "" if service.admitted else service.reason,
            )
        )
    if len(services) > 1:
        counts = [row[1:5] for row in rows[1:] if row[1] != "-"]
        sums = (str(sum(map(int, column))) for column in zip(*counts, strict=True))
        admitted = sum(service.admitted for service in services.values())
        told = f"{admitted} of {len(listed)} admitted"
        all_tools, plain, drawn_tools, lost = sums
        rows.append(("in all", all_tools, plain, drawn_tools, lost, told))
    page.table(rows)
    return page
