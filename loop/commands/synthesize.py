"""Make services of specifications: read, compile, seed and gate them, and say what came of each.

    python -m loop synthesize 'environment.sources=[{kind: jsonl, path: specs.jsonl}]' out=services
    python -m loop synthesize environment.mcp_config=mcp.json
    python -m loop synthesize environment.mcp_config=mcp.json environment.author=model
        environment.author.base_url=http://localhost:8000/v1 environment.author.model=NAME

Recorded answers of real servers (`environment.recordings=[answers.jsonl]`) say what specifications
leave out: what the tools of those servers answer.

With `out`, each service is a folder: its spec, blueprint, seed and card, and what decided on each
of its tools. With an author, a model writes code where the compiler left something to do; it is
taken where the same tests say that it is better, and `author.json` says what was tried and paid.
"""

from __future__ import annotations

import datetime
import sys
from collections.abc import Mapping
from pathlib import Path

from components.environment.author.config import ModelAuthorConfig
from components.environment.sources.listed import ListedServer
from components.errors import ConfigError, SpecError
from components.records.base import to_json
from components.records.code import ENTRY
from loop.compute.pool import open_pool
from loop.console import Console
from loop.ledger_files import pretty_json, write_file
from loop.plain_page import Page
from loop.services import listed_servers, sources_of
from loop.synthesis.authoring import AuthoredSpec, author_services, told_author
from loop.synthesis.cache import open_compilations
from loop.synthesis.compiled import CompiledSpec
from loop.synthesis.run import synthesize
from loop.verb_configs import SynthesizeConfig


def main(config: SynthesizeConfig) -> None:
    """Compile every server of the sources, show a table, and write the services where asked."""
    settings = config.environment
    sources = sources_of(settings)
    if not sources and not settings.recordings:
        raise ConfigError(
            "synthesize needs a source; set environment.mcp_config=mcp.json or "
            "'environment.sources=[{kind: jsonl, path: specs.jsonl}]' or "
            "'environment.recordings=[answers.jsonl]'"
        )
    console = Console(sys.stderr)
    day = datetime.date.today().isoformat()
    listed = listed_servers(settings, console, day)
    specs = [server.spec for server in listed if server.spec is not None]
    cache = open_compilations(config.runs_dir)
    with open_pool(config.compute, console.line) as pool:
        made = synthesize(specs, cache, pool, lambda n, of: console.progress("services", n, of))
    by_name = {service.spec.service: service for service in made.services}
    if config.out is not None:
        for server in listed:
            if server.spec is not None:
                _write(Path(config.out), server, by_name[server.spec.service])
    author = settings.author if isinstance(settings.author, ModelAuthorConfig) else None
    authored: dict[str, AuthoredSpec] = {}
    try:
        if author is not None:
            for service, found in author_services(made.services, author, config.runs_dir, console):
                authored[service.spec.service] = found
                if config.out is not None:
                    _write_authored(Path(config.out) / service.spec.service, found)
    finally:  # what there is is shown, whatever became of the author
        print(_table(listed, by_name, None if author is None else authored).text())
        if config.out is not None and specs:
            print(config.out)
    if not specs:
        raise SpecError(
            "none of the servers could be listed; the table says why of each: mend them, or name "
            "other sources"
        )


def _write(folder: Path, server: ListedServer, service: CompiledSpec) -> None:
    home = folder / service.spec.service
    for name in ("code.json", "author.json", f"code/{ENTRY}"):  # of an earlier author
        (home / name).unlink(missing_ok=True)
    parts = {
        "spec": to_json(service.spec),
        "blueprint": to_json(service.blueprint),
        "seed": to_json(service.seed),
        "card": None if server.card is None else to_json(server.card),
        "tools": {tool: service.why.get(tool, "") for tool in sorted(service.spec.tools)},
    }
    for part, body in parts.items():
        if body is not None:
            write_file(home / f"{part}.json", pretty_json(body), point="service")


def _write_authored(home: Path, found: AuthoredSpec) -> None:
    """Write what was tried, and the code where it was taken, its record once the seed fits it."""
    authored = found.authored
    if authored.code is not None:
        for name, text in sorted(authored.code.sources.items()):
            write_file(home / "code" / name, text.encode(), point="service")
        write_file(home / "seed.json", pretty_json(to_json(authored.seed)), point="service")
        write_file(home / "code.json", pretty_json(to_json(authored.code)), point="service")
    tried = {
        name: value for name, value in to_json(authored).items() if name not in ("code", "seed")
    }
    write_file(home / "author.json", pretty_json(tried), point="service")


def _table(
    listed: tuple[ListedServer, ...],
    services: Mapping[str, CompiledSpec],
    authored: Mapping[str, AuthoredSpec] | None,
) -> Page:
    """Return the table; `authored` None: without the author's column."""
    page = Page()
    names = ("tools", "deterministic", "simulated", "quarantined")
    rows = [["service", *names, "author", "not admitted"]]
    counts, num_admitted = [0, 0, 0, 0], 0
    for server in listed:
        if server.spec is None:
            why = server.error.removeprefix(f"{server.name}: ")
            rows.append([server.name, "-", "-", "-", "-", "-", why])
            continue
        service = services[server.spec.service]
        found = None if authored is None else authored.get(server.spec.service)
        code = None if found is None else found.authored.code
        blueprint = service.blueprint if code is None else code.shape
        admitted, reason = (
            (service.admitted, service.reason) if found is None else (found.admitted, found.reason)
        )
        simulated = sum(tool.simulated for tool in blueprint.tools.values())
        own = [
            len(service.spec.tools),
            len(blueprint.tools) - simulated,
            simulated,
            len(blueprint.quarantined),
        ]
        counts = [sum(pair) for pair in zip(counts, own, strict=True)]
        num_admitted += admitted
        told = told_author(service, found)
        rows.append([service.spec.service, *map(str, own), told, "" if admitted else reason])
    if len(services) > 1:
        told = f"{num_admitted} of {len(listed)} admitted"
        rows.append(["in all", *map(str, counts), "", told])
    if authored is None:
        rows = [[*row[:5], row[6]] for row in rows]
    page.table(rows)
    return page
