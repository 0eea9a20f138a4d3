"""Admission of a service, built-in or compiled: four gates, one verdict a tool.

Owns the order of the gates and what follows from a failure: the tool is quarantined under the first
gate that it failed, and a service with too little left is not admitted. It repairs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from components.environment.gates.adversarial import run_adversarial
from components.environment.gates.documentation import run_documentation
from components.environment.gates.laws import run_laws
from components.environment.gates.marks import Marks, mark_service
from components.environment.gates.probe import GATE_NOW, GateFailure, Prober, offered
from components.environment.gates.self_tests import run_self_tests
from components.environment.world import World, build_service_world
from components.environment.wrapped import opened, opened_blueprint
from components.errors import SynthesisError
from components.records.blueprint import (
    Blueprint,
    Operation,
    Quarantine,
    QuarantineReason,
    SeedData,
)
from components.records.code import CodeService
from components.records.frozen import FrozenDict, JsonObject
from components.records.spec import ServiceSpec

MIN_TOOLS = 3
"""A service with fewer working tools is no environment."""
MIN_DIFFICULTY = 3
"""A service whose every tool is easier teaches nothing."""

_REASONS = {
    "self": QuarantineReason.FAILED_SELF_TEST,
    "adversarial": QuarantineReason.FAILED_ADVERSARIAL,
    "documentation": QuarantineReason.FAILED_DOCUMENTATION,
    "law": QuarantineReason.FAILED_STATE_LAW,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """What the gates say of a service."""

    blueprint: Blueprint
    """The blueprint with failing tools moved to `quarantined`."""
    tests_run: int
    """Calls that the gates made."""
    failures: tuple[GateFailure, ...]
    admitted: bool
    reason: str
    """Why it is not admitted; empty when it is."""
    marks: Marks = field(default_factory=Marks)
    """What no gate demands of a tool."""
    doubt: str = ""
    """Why a compiled service hardly makes sense as a whole; it is not admitted for it, though what
    is in it works. Empty where it makes sense, or is not admitted anyway.
    """


def admit_service(
    spec: ServiceSpec, blueprint: Blueprint, seed: SeedData, code: CodeService | None = None
) -> Admission:
    """Run every gate on a service alone.

    Args:
        spec: the reference: schemas and written rules.
        blueprint: what is judged; tools that are quarantined already are not tested.
        seed: rows that the tests start from.
        code: what answers in the place of the blueprint's effects; None: they do.

    Raises:
        ComputeError: the walls of the code do not stand here.
    """
    try:
        if code is None:
            world, working, broken = _compiling_part(
                opened(spec), opened_blueprint(spec, blueprint), seed, code
            )
            spec = opened(spec)
        else:
            world, working, broken = _compiling_part(spec, blueprint, seed, code)
    except SynthesisError as error:
        return Admission(
            blueprint=blueprint, tests_run=0, failures=(), admitted=False, reason=str(error)
        )
    prober = Prober(spec=spec, world=world, tools=offered(spec, world), failures=broken)
    variants = run_gates(prober, working)
    failures = tuple(sorted(prober.failures, key=lambda item: (item.tool, item.gate, item.rule)))
    judged = quarantine(blueprint, failures)
    marks = mark_service(prober, working, variants)
    reason = _reason(judged, failures)
    doubt = marks.doubt if not reason and blueprint.inferred and code is None else ""
    return Admission(
        blueprint=judged,
        tests_run=prober.num_calls,
        failures=failures,
        admitted=not reason and not doubt,
        reason=reason or doubt,
        marks=marks,
        doubt=doubt,
    )


def run_gates(prober: Prober, blueprint: Blueprint) -> dict[str, list[JsonObject]]:
    """Run the gates in their order on a service that compiles; failures are the prober's.

    Returns:
        Tool -> the arguments that it was called with.
    """
    variants = run_self_tests(prober, blueprint)
    run_adversarial(prober)
    run_documentation(prober, variants, _apart(blueprint))
    run_laws(prober, blueprint, variants)
    return variants


def _apart(blueprint: Blueprint) -> frozenset[str]:
    """Return the tools that are about no record."""
    return frozenset(
        name
        for name, tool in blueprint.tools.items()
        if tool.simulated or (tool.operation is Operation.COMPUTE and not tool.effects)
    )


def _compiling_part(
    spec: ServiceSpec, blueprint: Blueprint, seed: SeedData, code: CodeService | None
) -> tuple[World, Blueprint, list[GateFailure]]:
    """Return the world of the tools that compile, their blueprint, and failures of the others.

    Raises:
        SynthesisError: not even the tables and the seed compile.
    """
    try:
        return build_service_world(spec, blueprint, seed, GATE_NOW, code), blueprint, []
    except SynthesisError:
        pass
    working: dict[str, object] = {}
    failures: list[GateFailure] = []
    for name, tool in sorted(blueprint.tools.items()):
        alone = blueprint.model_copy(update={"tools": FrozenDict({name: tool})})
        try:
            build_service_world(spec, alone, seed, GATE_NOW, code)
        except SynthesisError as error:
            failures.append(
                GateFailure(
                    tool=name,
                    gate="self",
                    rule="it compiles",
                    arguments=FrozenDict(),
                    expected="a blueprint that fits its spec",
                    came=str(error)[:300],
                )
            )
            continue
        working[name] = tool
    part = blueprint.model_copy(update={"tools": FrozenDict(working)})
    return build_service_world(spec, part, seed, GATE_NOW, code), part, failures


def quarantine(blueprint: Blueprint, failures: Sequence[GateFailure]) -> Blueprint:
    """Return a blueprint without the tools that failed, each under the first gate it failed."""
    tools, quarantined = dict(blueprint.tools), dict(blueprint.quarantined)
    for gate in _REASONS:
        for failure in failures:
            if failure.gate == gate and failure.tool in tools:
                del tools[failure.tool]
                detail = f"{failure.rule}: expected {failure.expected}; {failure.came}"
                quarantined[failure.tool] = Quarantine(reason=_REASONS[gate], detail=detail[:400])
    return blueprint.model_copy(
        update={"tools": FrozenDict(tools), "quarantined": FrozenDict(quarantined)}
    )


def _reason(blueprint: Blueprint, failures: tuple[GateFailure, ...]) -> str:
    own = [failure for failure in failures if not failure.tool]
    if own:
        return f"{own[0].rule}: expected {own[0].expected}; {own[0].came}"
    tools = {n: tool for n, tool in blueprint.tools.items() if n not in blueprint.quarantined}
    if len(tools) < MIN_TOOLS:
        return f"only {len(tools)} of its tools work; {MIN_TOOLS} are needed"
    hardest = max(tool.difficulty for tool in tools.values())
    if hardest < MIN_DIFFICULTY:
        return f"its hardest tool has difficulty {hardest}; {MIN_DIFFICULTY} is needed"
    return ""
