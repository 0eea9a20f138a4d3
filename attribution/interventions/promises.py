"""Calls and rows against what is promised of them: the spec of each tool, and the world contract.

Everything here is found without the certificate: by the written rules alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from attribution.evidence import evidence, place_of
from attribution.interventions.steps import Step
from attribution.kept import kept
from attribution.meter import Intervention, metered
from attribution.records import Evidence, EvidenceKind, Party
from attribution.spec_check import Violation, check_call
from components.environment.engine import execute
from components.environment.identity import Same
from components.environment.invariants import broken_invariants
from components.environment.reactions import CompiledReaction
from components.environment.service import CompiledService
from components.environment.world import World, active_reactions
from components.records.base import to_json
from components.records.calls import CallRecord, RowChange
from components.records.frozen import thaw
from components.records.system import System
from components.records.world import WorldContract


def promised_reactions(world: World, contract: WorldContract) -> dict[str, CompiledReaction] | None:
    """Return the contract's reactions, compiled for this world; worlds of the same services
    share them.

    None: the contract speaks of no reaction at all, and its silence is no evidence.
    """
    if not contract.reactions:
        return None
    services = tuple(Same(world.services[name]) for name in sorted(world.services))
    return _promised(Same(contract), services)


@lru_cache(maxsize=256)
def _promised(
    contract: Same[WorldContract], services: tuple[Same[CompiledService], ...]
) -> dict[str, CompiledReaction]:
    by_name = {item.value.spec.service: item.value for item in services}
    return active_reactions(by_name, contract.value.reactions)


def check_step(
    world: World,
    promised: dict[str, CompiledReaction] | None,
    step: Step,
    *,
    task_id: str | None = None,
    rollout_id: str | None = None,
    call_index: int | None = None,
    earlier: Sequence[CallRecord] = (),
) -> tuple[Evidence, ...]:
    """Return what one call breaks of its spec and of the promised reactions.

    Args:
        world: the world that answered.
        promised: the contract's reactions, compiled for it; None: nothing is promised of any.
        step: the call with its states.
        task_id, rollout_id, call_index: what it was seen on.
        earlier: the calls before it; given for a rollout's calls, so that the fact can be replayed
            by itself.
    """
    call, service = step.call, world.services.get(step.call.service)
    if service is None:
        return ()
    seen: dict[str, Any] = {"task_id": task_id, "rollout_id": rollout_id, "call_index": call_index}
    if rollout_id is not None:
        seen["calls"] = [
            [item.service, item.tool, thaw(item.arguments)] for item in (*earlier, call)
        ]
    breaches = kept("breaches", (world, promised, step), lambda: _breaches(world, promised, step))
    found = [
        evidence(
            EvidenceKind.SPEC,
            Party.ENVIRONMENT,
            place_of(f"blueprint/{call.service}", "tools", call.tool, violation.part),
            f"{call.service}.{call.tool}: {violation.statement}",
            **seen,
            service=call.service,
            tool=call.tool,
            arguments=thaw(call.arguments),
            part=violation.part,
            rule=violation.rule,
            expected=violation.expected,
            found=violation.found,
        )
        for violation in breaches.documentation
    ]
    found += [
        evidence(
            EvidenceKind.CONTRACT,
            Party.ENVIRONMENT,
            place_of("reactions", item.reaction),
            f"after {call.service}.{call.tool} the reaction {item.reaction!r} {item.verb}",
            **seen,
            reaction=item.reaction,
            expected=[to_json(change) for change in item.expected],
            found=[to_json(change) for change in item.found],
        )
        for item in breaches.reactions
    ]
    return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reacted:
    """One promised reaction that came out otherwise."""

    reaction: str
    verb: str
    expected: tuple[RowChange, ...]
    found: tuple[RowChange, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Breaches:
    """What one call breaks, whoever made it."""

    documentation: tuple[Violation, ...]
    reactions: tuple[_Reacted, ...]


@metered(Intervention.SPEC_CHECK)
def _breaches(world: World, promised: dict[str, CompiledReaction] | None, step: Step) -> _Breaches:
    service = world.services[step.call.service]
    return _Breaches(
        documentation=check_call(service, step.before, step.after, step.call),
        reactions=() if promised is None else tuple(_reactions(world, promised, step)),
    )


def _reactions(
    world: World, promised: dict[str, CompiledReaction], step: Step
) -> Iterator[_Reacted]:
    call = step.call
    should = execute(
        replace(world, reactions=promised), step.before, call.service, call.tool, call.arguments
    )
    expected, actual = _by_cause(should.changes), _by_cause(call.changes)
    for cause in sorted(set(expected) | set(actual)):
        want, have = expected.get(cause, ()), actual.get(cause, ())
        if want == have:
            continue
        name = cause.partition(":")[2]
        verb = (
            "does not happen" if not have else "is not promised" if not want else "writes otherwise"
        )
        yield _Reacted(reaction=name, verb=verb, expected=want, found=have)


def _by_cause(changes: Iterable[RowChange]) -> dict[str, tuple[RowChange, ...]]:
    grouped: dict[str, tuple[RowChange, ...]] = {}
    for change in changes:
        if change.cause.startswith("reaction:"):
            grouped[change.cause] = (*grouped.get(change.cause, ()), change)
    return grouped


def broken_reactions(system: System) -> tuple[Evidence, ...]:
    """Return the reactions that are not as the contract promises them, without running anything."""
    own, promised = system.environment.reactions, system.reference.contract.reactions
    found = []
    for name in sorted(set(own) | set(promised)):
        mine, theirs = own.get(name), promised.get(name)
        if mine is not None and theirs is not None and _rule(mine) == _rule(theirs):
            continue
        if theirs is None and not promised:
            continue  # nothing at all is promised of these services: silence is no evidence
        verb = (
            "is missing"
            if mine is None
            else "is not promised"
            if theirs is None
            else "is another rule"
        )
        found.append(
            evidence(
                EvidenceKind.CONTRACT,
                Party.ENVIRONMENT,
                place_of("reactions", name),
                f"the reaction {name!r} {verb} than the world contract says"
                if verb == "is another rule"
                else f"the reaction {name!r} {verb}",
                reaction=name,
            )
        )
    return tuple(found)


def _rule(reaction: Any) -> Any:
    body = to_json(reaction)
    return body["on"], body["writes"]


@metered(Intervention.ROWS)
def broken_rows(
    world: World,
    contract: WorldContract,
    party: Party,
    task_id: str | None = None,
    only: Collection[str] | None = None,
) -> tuple[Evidence, ...]:
    """Return the rows of a world's start that break an invariant of the contract.

    Args:
        world: built without overrides to speak of the seeds, with them to speak of a task.
        contract: the invariants.
        party: the environment for seeds, the task for overrides.
        task_id: the task, for the evidence.
        only: rows to look at, as `service/table/id`; None: all.
    """
    found = []
    for name, invariant, row_id in broken_invariants(world, contract, only):
        artifact = f"seed/{invariant.service}" if party is Party.ENVIRONMENT else f"task/{task_id}"
        parts = (
            ("tables", invariant.table, row_id)
            if party is Party.ENVIRONMENT
            else ("world", "overrides", f"{invariant.service}/{invariant.table}/{row_id}")
        )
        found.append(
            evidence(
                EvidenceKind.CONTRACT,
                party,
                place_of(artifact, *parts),
                f"{invariant.service}/{invariant.table}/{row_id} breaks: {invariant.text}",
                task_id=task_id,
                invariant=name,
                service=invariant.service,
                table=invariant.table,
                row_id=row_id,
            )
        )
    return tuple(found)
