"""The services of a system: built-in ones, and those compiled from live MCP servers; all gated."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from components.environment.author.config import ModelAuthorConfig
from components.environment.catalog_loader import (
    builtin_services,
    load_contract,
    load_reactions,
    load_service,
)
from components.environment.config import EnvironmentConfig
from components.environment.gates.run import admit_service
from components.environment.recorded.teaching import read_lessons, read_taught
from components.environment.sources.config import McpConfigSource, Source, ToolsListSource
from components.environment.sources.listed import ListedServer
from components.environment.sources.names import to_server
from components.environment.sources.server_calls import call_server
from components.environment.sources.server_list import read_recorded_listings, read_server_list
from components.errors import ConfigError, SpecError, ToolError
from components.records.blueprint import Blueprint, SeedData
from components.records.code import CodeService
from components.records.frozen import FrozenDict, thaw
from components.records.policy import PolicyRule
from components.records.spec import ServiceSpec
from components.records.system import Environment, Reference
from components.task.compose import WORLD_NOW
from components.task.config import TaskConfig
from components.task.generated_rules import generated_rules
from loop.compute.config import LocalComputeConfig
from loop.compute.pool import open_pool
from loop.config import RunConfig
from loop.console import Console
from loop.policy.check import check_policy
from loop.synthesis.authoring import author_services, told_author
from loop.synthesis.cache import open_compilations
from loop.synthesis.compiled import CompiledSpec
from loop.synthesis.run import synthesize
from loop.verbs import nearest

_NO_DATE = "1970-01-01"
"""A round keeps no cards: its result does not depend on the day."""
_SOURCE_KEYS = ("environment.sources", "environment.mcp_config", "environment.recordings")


class ServiceKeys(Protocol):
    """What is read of a configuration to build services, and to see whether tasks fit them."""

    @property
    def runs_dir(self) -> str: ...
    @property
    def environment(self) -> EnvironmentConfig: ...
    @property
    def task(self) -> TaskConfig: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A service before its gates."""

    spec: ServiceSpec
    blueprint: Blueprint
    seed: SeedData
    code: CodeService | None = None
    """What a model wrote in the blueprint's place, which is its shape then."""
    is_compiled: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """The admitted services, and what became of the others."""

    environment: Environment
    reference: Reference
    compiled: tuple[str, ...]
    refused: dict[str, str]
    """Service or server -> why it is not there."""
    gate_tests: int
    """Gate tests that were run."""
    recorded: dict[str, Any]
    """`server.tool` of `environment.allow_calls` -> what the real server answered without
    arguments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """Services that came through their gates, by name."""

    specs: FrozenDict[str, ServiceSpec]
    blueprints: FrozenDict[str, Blueprint]
    seeds: FrozenDict[str, SeedData]
    code: FrozenDict[str, CodeService]
    """Those that are code."""
    compiled: list[str]
    """Those that no catalog has."""
    rules: FrozenDict[str, PolicyRule]
    """Policy rules of those, by name."""
    gate_tests: int
    """Gate tests that were run."""


def check_settings(config: RunConfig) -> None:
    """Refuse what can be seen to be wrong before anything is started or written.

    Raises:
        ConfigError: an unknown built-in service, or settings of `task` that no draft could meet.
        SpecError: the file with servers cannot be read.
        PolicyError: the policy could not be opened.
    """
    names = config.environment.services
    specs = {name: builtin_candidate(name).spec for name in names}
    twice = next((name for name in specs if names.count(name) > 1), None)
    if twice is not None:
        raise ConfigError(f"environment.services names '{twice}' twice; write it once")
    check_policy(config.policy, config.train if config.trains else None, config.compute)
    read_lessons(config.environment.recordings)
    if config.environment.mcp_config is not None:
        path = Path(config.environment.mcp_config)
        try:
            if read_recorded_listings(path) is None:
                read_server_list(path)
        except SpecError as error:
            raise SpecError(
                f"environment.mcp_config: {error}; mend the file, name another, or drop the key"
            ) from error
    elif not config.environment.sources and not config.environment.recordings:
        _check_tasks_fit(config, specs)


def build_services(config: ServiceKeys, console: Console) -> Services:
    """Load, list, compile and gate every service that the configuration names.

    Raises:
        ConfigError: an unknown built-in service, or none admitted.
        SpecError: the `mcpServers` file cannot be read.
    """
    refused: dict[str, str] = {}
    candidates = [builtin_candidate(name) for name in config.environment.services]
    recorded: dict[str, Any] = {}
    candidates += compiled_candidates(config, console, refused, recorded)
    admitted = admit_candidates(config, console, candidates, refused)
    specs, compiled, code = dict(admitted.specs), admitted.compiled, admitted.code
    settings = config.environment
    asked = (settings.sources, settings.mcp_config, settings.recordings)
    named = [name for name, given in zip(_SOURCE_KEYS, asked, strict=True) if given]
    if named and not compiled:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in sorted(refused.items()))
        raise ConfigError(
            f"{named[0]}: none of its servers could be used ({reasons}); mend the file or drop the "
            "key"
        )
    if code:
        console.line(
            f"{', '.join(code)}: code; what its tools answer is in no blueprint, so no task turns "
            "on it and it will only be in the way (task.distractors)"
        )
    declared = [name for name in compiled if name not in code]
    if declared and config.task.k < 3:
        console.line(
            f"task.k={config.task.k} leaves room for services that react to each other alone: "
            f"{', '.join(declared)} will only be in the way; set task.k=3 to use it in tasks"
        )
    if not specs:
        raise ConfigError(
            "no service was admitted; name some in environment.services or environment.mcp_config"
        )
    _check_partners(config, specs, compiled)
    _check_tasks_fit(config, specs, code)
    environment = Environment(
        blueprints=admitted.blueprints,
        seeds=admitted.seeds,
        reactions=load_reactions(),
        code=admitted.code,
    )
    contract = load_contract()
    rules = FrozenDict({**contract.rules, **admitted.rules})
    reference = Reference(
        specs=FrozenDict(specs), contract=contract.model_copy(update={"rules": rules})
    )
    return Services(
        environment=environment,
        reference=reference,
        compiled=tuple(sorted(compiled)),
        refused=refused,
        gate_tests=admitted.gate_tests,
        recorded=recorded,
    )


def admit_candidates(
    config: ServiceKeys, console: Console, candidates: Sequence[Candidate], refused: dict[str, str]
) -> Admitted:
    """Put services through their gates, and say which stay out.

    Args:
        config: says whether what works and is in doubt takes part.
        console: is told of each that stays out.
        candidates: services before their gates.
        refused: service or server -> why it is not there; gets more.
    """
    specs: dict[str, ServiceSpec] = {}
    blueprints: dict[str, Blueprint] = {}
    seeds: dict[str, SeedData] = {}
    code: dict[str, CodeService] = {}
    compiled, doubted, tests = [], [], 0
    for number, candidate in enumerate(candidates, start=1):
        name = candidate.spec.service
        admission = admit_service(
            candidate.spec, candidate.blueprint, candidate.seed, candidate.code
        )
        tests += admission.tests_run
        console.progress("services", number, len(candidates))
        if admission.doubt and config.environment.admit == "working":
            console.line(f"service {name} takes part, though {admission.doubt}")
        elif not admission.admitted:
            refused[name] = admission.reason
            doubted += [name] if admission.doubt else []
            continue
        specs[name], seeds[name] = candidate.spec, candidate.seed
        blueprints[name] = admission.blueprint
        if candidate.code is not None:
            code[name] = candidate.code
        compiled += [name] if candidate.is_compiled else []
    for name, reason in sorted(refused.items()):
        console.line(f"service {name} was not admitted: {reason}")
    if doubted:
        console.line(
            f"{', '.join(doubted)}: the tools work, and the whole is in doubt; "
            "environment.admit=working lets them take part"
        )
    made = [
        generated_rules(blueprints[name], seeds[name], specs[name].title, WORLD_NOW)
        for name in compiled
        if name not in code
    ]
    return Admitted(
        specs=FrozenDict(specs),
        blueprints=FrozenDict(blueprints),
        seeds=FrozenDict(seeds),
        code=FrozenDict(code),
        compiled=compiled,
        rules=FrozenDict({key: rule for some in made for key, rule in some.items()}),
        gate_tests=tests,
    )


def _check_tasks_fit(
    config: ServiceKeys, specs: dict[str, ServiceSpec], code: Collection[str] = ()
) -> None:
    """Refuse settings of `task` that no draft could meet, before any draft is made."""
    known = sorted({*specs, *(spec.domain for spec in specs.values())})
    wanted = config.task.domains
    for name in wanted:
        if name not in known:
            near = nearest(name, known) or known[0]
            raise ConfigError(
                f"task.domains: there is no domain or service '{name}' "
                f"(known: {', '.join(known)}); did you mean '{near}'?"
            )
    fitting = [name for name in _wanted(config, specs) if name not in code]
    if not fitting:
        raise ConfigError(
            "there is no service to draw tasks from; name some in environment.services or "
            "environment.mcp_config"
        )
    if config.task.k > len(fitting):
        raise ConfigError(
            f"task.k must be <= the number of services to draw from (got {config.task.k}, there "
            f"are {len(fitting)}: {', '.join(sorted(fitting))}); set task.k={len(fitting)} or "
            "name more services"
        )


def _wanted(config: ServiceKeys, specs: Mapping[str, ServiceSpec]) -> list[str]:
    """Return the services that `task.domains` lets tasks be drawn from."""
    wanted = config.task.domains
    return [
        name
        for name, spec in specs.items()
        if not wanted or name in wanted or spec.domain in wanted
    ]


def _check_partners(
    config: ServiceKeys, specs: dict[str, ServiceSpec], compiled: list[str]
) -> None:
    """Refuse tasks that would be made of compiled services alone: none of them reacts to another,
    and a task comes back to a service because of what another one did.
    """
    wanted, fitting = config.task.domains, _wanted(config, specs)
    if fitting and set(fitting) <= set(compiled):
        key = "task.domains" if wanted else "environment.services"
        partners = sorted({loaded.domain for loaded in specs.values() if loaded.domain})
        others = [name for name in partners if name not in wanted and name != "external"][:2]
        named = ",".join([*wanted, *(others or ["support", "finance"])])
        mend = f"task.domains=[{named}]" if wanted else "environment.services=[helpdesk,mail,crm]"
        raise ConfigError(
            f"{key}: no task can be made of {', '.join(sorted(fitting))} alone, since services "
            f"that are compiled do not react to each other; name built-in ones beside them, such "
            f"as {mend}"
        )


def builtin_candidate(name: str) -> Candidate:
    """Return a service of the catalog.

    Raises:
        ConfigError: there is none of this name; the message has the nearest.
    """
    known = builtin_services()
    if name not in known:
        near = nearest(name, list(known)) or known[0]
        raise ConfigError(
            f"environment.services: there is no built-in service '{name}' "
            f"(known: {', '.join(known)}); did you mean '{near}'?"
        )
    loaded = load_service(name)
    return Candidate(
        spec=loaded.spec, blueprint=loaded.blueprint, seed=loaded.seed, is_compiled=False
    )


def listed_servers(
    settings: EnvironmentConfig, console: Console, date: str
) -> tuple[ListedServer, ...]:
    """Read every source of a configuration, taught by its recordings; live servers show progress.

    Args:
        settings: names sources and recordings.
        console: is shown how many live servers are done, and which are waited for.
        date: day of the reading, for the cards (`2026-01-31`).

    Raises:
        SpecError: a file cannot be read; it names the key.
    """
    read = read_taught(
        sources_of(settings),
        settings.recordings,
        settings.timeout_seconds,
        date=date,
        progress=lambda n, of, running: console.progress("servers", n, of, note=running),
    )
    return asyncio.run(read)


def compiled_candidates(
    config: ServiceKeys,
    console: Console,
    refused: dict[str, str],
    recorded: dict[str, Any],
    there: Collection[str] = (),
) -> list[Candidate]:
    """Read every source and return its services, compiled or written by a model.

    Args:
        config: names the sources.
        console: is told what comes of each.
        refused: server -> why it gives no service; gets more.
        recorded: allowed tool -> what the real server answered; gets more.
        there: services that a system has already: they are passed over.
    """
    settings = config.environment
    if not sources_of(settings) and not settings.recordings:
        return []
    listed = listed_servers(settings, console, _NO_DATE)
    if settings.allow_calls and settings.mcp_config is not None:
        path = Path(settings.mcp_config)
        for name in settings.allow_calls:
            recorded[name] = _recorded(config, path, name, listed)
            console.line(f"{name} was called without arguments: {_outcome(recorded[name])}")
    taken, specs = set(settings.services), []
    for server in listed:
        if server.spec is None:
            refused[server.name] = server.error.removeprefix(f"{server.name}: ")
        elif server.spec.service in there:
            continue
        elif server.spec.service in taken:
            refused[server.name] = (
                f"there is a service '{server.spec.service}' already; rename the server"
            )
        else:
            taken.add(server.spec.service)
            specs.append(server.spec)
    cache = open_compilations(config.runs_dir)
    with open_pool(LocalComputeConfig(kind="local"), console.line) as pool:
        made = synthesize(specs, cache, pool, lambda _n, _of: None)
    for service in made.services:
        tools = service.blueprint.tools.values()
        simulated = sum(tool.simulated for tool in tools)
        told = f"{len(tools) - simulated} of {len(service.spec.tools)} tools compiled"
        told += f", {simulated} simulated" if simulated else ""
        console.line(f"service {service.spec.service}: {told}")
    return _authored(config, console, made.services)


def _authored(
    config: ServiceKeys, console: Console, services: tuple[CompiledSpec, ...]
) -> list[Candidate]:
    """Return compiled services, as code where a model wrote some that is better."""
    author = config.environment.author
    found = {
        item.spec.service: Candidate(
            spec=item.spec, blueprint=item.blueprint, seed=item.seed, is_compiled=True
        )
        for item in services
    }
    if isinstance(author, ModelAuthorConfig):
        for service, made in author_services(services, author, config.runs_dir, console):
            name, code = service.spec.service, made.authored.code
            console.line(f"service {name}: {told_author(service, made)}")
            if code is not None:
                found[name] = Candidate(
                    spec=service.spec,
                    blueprint=code.shape,
                    seed=made.authored.seed,
                    code=code,
                    is_compiled=True,
                )
    return list(found.values())


def sources_of(settings: EnvironmentConfig) -> list[Source]:
    """Return every source that a configuration names, what `mcp_config` names last."""
    path = settings.mcp_config
    if path is None:
        return list(settings.sources)
    is_saved = read_recorded_listings(Path(path)) is not None
    last = ToolsListSource(path=path) if is_saved else McpConfigSource(path=path)
    return [*settings.sources, last]


def _recorded(
    config: ServiceKeys, path: Path, name: str, listed: tuple[ListedServer, ...]
) -> dict[str, Any]:
    """Call one allowed tool of a real server; what it answers is kept in the ledger."""
    server, _, tool = name.partition(".")
    spec = next((item.spec for item in listed if item.name == server), None)
    found = None if spec is None else spec.tools.get(tool)
    if found is None:
        known = [f"{item.name}.{tool}" for item in listed if item.spec for tool in item.spec.tools]
        near = nearest(name, known)
        raise ConfigError(
            f"environment.allow_calls: no listed tool '{name}'"
            + (f"; did you mean '{near}'?" if near else "")
        )
    if found.input_schema.get("required"):
        raise ConfigError(
            f"environment.allow_calls: '{name}' needs arguments; only tools that need none are "
            "called; drop it"
        )
    card = next((item.card for item in listed if item.name == server), None)
    own = tool if card is None else to_server(card, tool, {})[0]
    timeout, allowed = config.environment.timeout_seconds, frozenset({f"{server}.{own}"})
    try:
        (answer,) = asyncio.run(
            call_server(path, server, [(own, {})], timeout, allow_calls=allowed)
        )
    except ToolError as error:
        return {"is_error": True, "structured": None, "text": str(error), "num_other_parts": 0}
    return dict(thaw(answer))


def _outcome(answer: dict[str, Any]) -> str:
    return "an error" if answer["is_error"] else "it answered"
