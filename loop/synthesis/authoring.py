"""Compiled services that a model may better: which they are, and what came of each.

Owns the order of the work: one service after the other, the walls and the endpoint looked at once
before the first request, and what is done kept in the store, so that nothing is paid for twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import Field

from components.environment.author.author import author_service, open_recording
from components.environment.author.config import ModelAuthorConfig
from components.environment.author.records import Authored, Stopped
from components.environment.author.sources import hash_source
from components.environment.gates.run import admit_service
from components.environment.sandbox.code_service import external_tools
from components.environment.sandbox.walls import Walls, check_walls
from components.errors import PolicyError
from components.model.endpoint import check_endpoint
from components.records.base import Record, to_json
from components.records.frozen import content_hash
from loop.console import Console
from loop.synthesis.cache import Kept
from loop.synthesis.compiled import CompiledSpec, compilation_key

_SETTINGS = frozenset(
    {"model", "temperature", "max_answer_tokens", "revisions", "sandbox", "deadline_seconds"}
)
"""What of a configuration decides on the result, beside the server's source."""
_STOPPED = {
    Stopped.BUDGET: "the budget is spent",
    Stopped.WINDOW: "too long for the model's window",
    Stopped.ENDPOINT: "the endpoint gave no answer",
}


_ELSEWHERE = frozenset({Stopped.WINDOW, Stopped.ENDPOINT})
"""Ends that another server behind the same address and name would not have: nothing is kept."""


class AuthoredSpec(Record):
    """What a model made of a compiled service."""

    schema_version: int = Field(default=1, ge=1, le=1)
    authored: Authored
    """Its code, where there is some, has been through the gates: tools that failed one are
    quarantined in its shape."""
    admitted: bool
    reason: str
    """Why the service is not admitted; empty when it is."""


def needs_author(service: CompiledSpec) -> bool:
    """Return whether the compiler left something to do that code can do."""
    outside = external_tools(service.blueprint)
    is_whole = service.admitted and outside >= set(service.blueprint.quarantined)
    return not is_whole and not outside >= set(service.spec.tools)


def author_services(
    services: Sequence[CompiledSpec], config: ModelAuthorConfig, runs_dir: str, console: Console
) -> Iterator[tuple[CompiledSpec, AuthoredSpec]]:
    """Yield each service that needs an author with what came of it, in order.

    Args:
        services: after their gates; those that need no author are passed over.
        config: who writes.
        runs_dir: folder whose store keeps what was made. A replay neither reads nor fills it.
        console: told how far it is.

    Raises:
        ComputeError: the walls do not stand here; nothing was asked.
        PolicyError: the endpoint is not there, before anything was asked, or went away; what was
            yielded before holds.
        ConfigError: the recording or the source cannot be used.
    """
    wanted = [service for service in services if needs_author(service)]
    source = None if config.source is None or not wanted else hash_source(Path(config.source))
    kept = Kept(runs_dir, "authored", AuthoredSpec)
    recording = None
    for number, service in enumerate(wanted):
        console.progress("author", number, len(wanted), note=service.spec.service)
        done, spent = _keys(service, config, source)
        known = kept.get(done) or kept.get(spent) if config.replay is None else None
        if known is not None:
            yield service, known
            continue
        if recording is None:
            check_walls(Walls(config.sandbox), "environment.author.sandbox")
            recording = open_recording(config)
            if config.replay is None:
                check_endpoint(config)
        authored = author_service(service.spec, service.blueprint, service.seed, config, recording)
        made = _admitted(service, authored)
        if config.replay is None and authored.stopped not in _ELSEWHERE:
            kept.put(spent if authored.stopped else done, made)
        yield service, made
        if authored.stopped is Stopped.ENDPOINT:
            raise PolicyError(
                f"environment.author: {service.spec.service}: {authored.reason}; mend that and run "
                "the same command again, which goes on with this service"
            )
    if wanted:
        console.progress("author", len(wanted), len(wanted))


def told_author(service: CompiledSpec, made: AuthoredSpec | None) -> str:
    """Return in a few words what came of a service; None is one that no author has seen."""
    if made is None:
        return "not reached" if needs_author(service) else "left alone: nothing to do"
    authored = made.authored
    stopped = "" if authored.stopped is None else _STOPPED[authored.stopped]
    if authored.code is not None:
        tools = authored.code.shape.tools.values()
        working = sum(not tool.simulated for tool in tools)
        told = f"code: {working} of {len(service.spec.tools)} tools"
        return f"{told}; {stopped}" if stopped else told
    is_tried = any(not version.problem for version in authored.versions)
    why = stopped or ("the code was no better" if is_tried else "no code that runs")
    return f"blueprint kept: {why}"


def _keys(service: CompiledSpec, config: ModelAuthorConfig, source: str | None) -> tuple[str, str]:
    """Return the names of a result: of work that was done, and of work that this budget ended."""
    values = to_json(config)
    settings = {name: values[name] for name in sorted(_SETTINGS)}
    start = [compilation_key(service.spec), settings, source]
    prices = {name: value for name, value in values.items() if name.startswith("usd_per")}
    return content_hash(start), content_hash([*start, values["budget"], prices])


def _admitted(service: CompiledSpec, authored: Authored) -> AuthoredSpec:
    if authored.code is None:
        return AuthoredSpec(authored=authored, admitted=service.admitted, reason=service.reason)
    code = authored.code
    admission = admit_service(service.spec, code.shape, authored.seed, code)
    judged = code.model_copy(update={"shape": admission.blueprint})
    return AuthoredSpec(
        authored=authored.model_copy(update={"code": judged}),
        admitted=admission.admitted,
        reason=admission.reason,
    )
