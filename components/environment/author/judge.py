"""How a service does: the gates that every service meets, and the tests that models wrote.

Owns the order and the counting. Blueprint and code are judged alike, by the same calls. A tool that
keeps its worker waiting is not waited for again.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from components.environment.author.records import Tally, WrittenTest
from components.environment.author.trials import try_test
from components.environment.effects import Refusal
from components.environment.gates.probe import Prober, offered
from components.environment.gates.run import quarantine, run_gates
from components.environment.service import Answer, CompiledTool
from components.environment.state import Table
from components.environment.world import World
from components.errors import SynthesisError, boundary
from components.records.blueprint import Blueprint
from components.records.calls import ErrorCode
from components.records.spec import ServiceSpec

_MAX_WAITS = 2
"""Calls of one tool that may end at their deadline before it is not called any more."""
_MAX_PROBLEMS = 60


@dataclasses.dataclass(frozen=True, slots=True)
class Judged:
    """What came of all tests, and the shape with its failing tools in quarantine."""

    tally: Tally
    shape: Blueprint


def judge_world(
    spec: ServiceSpec,
    world: World,
    shape: Blueprint,
    own: tuple[WrittenTest, ...],
    adversarial: tuple[WrittenTest, ...],
) -> Judged:
    """Run the gates and the written tests on a world of one service.

    Args:
        spec: the reference.
        world: the service alone, with its seed.
        shape: the service's blueprint, or a code service's shape.
        own: tests that came with the code.
        adversarial: tests by who never saw it.

    Raises:
        SynthesisError: the service broke a gate itself.
    """
    patient = _impatient(world, spec.service)
    prober = Prober(spec=spec, world=patient, tools=offered(spec, patient))
    with boundary(SynthesisError, f"gates of {spec.service}"):
        run_gates(prober, shape)
    own_problems = _problems(patient, spec.service, own)
    other_problems = _problems(patient, spec.service, adversarial)
    failed = prober.failed()
    failed |= {name for name, tool in shape.tools.items() if tool.simulated}
    working = () if "" in failed else tuple(n for n in prober.tools if n not in failed)
    told = [
        f"{item.tool or 'the seed'}, {item.rule}: expected {item.expected}; came {item.came}"[:400]
        for item in sorted(prober.failures, key=lambda item: (item.tool, item.gate, item.rule))
    ]
    tally = Tally(
        working=working,
        gate_calls=prober.num_calls,
        gate_failures=len(prober.failures),
        own_passed=len(own) - len(own_problems),
        own_total=len(own),
        adversarial_passed=len(adversarial) - len(other_problems),
        adversarial_total=len(adversarial),
        problems=tuple([*told, *own_problems, *other_problems][:_MAX_PROBLEMS]),
    )
    return Judged(tally, quarantine(shape, prober.failures))


def _problems(world: World, service: str, tests: tuple[WrittenTest, ...]) -> list[str]:
    return [problem for test in tests if (problem := try_test(world, service, test))]


def _impatient(world: World, service: str) -> World:
    """Return the world with tools that stop being called once they were waited for in vain."""
    compiled = world.services[service]
    tools = {name: _with_patience(tool) for name, tool in compiled.tools.items()}
    services = {**world.services, service: dataclasses.replace(compiled, tools=tools)}
    return World(services, world.reactions, world.initial)


def _with_patience(tool: CompiledTool) -> CompiledTool:
    waits: list[Refusal] = []

    def run(tables: Mapping[str, Table], now: str, arguments: Mapping[str, Any]) -> Answer:
        if len(waits) >= _MAX_WAITS:
            raise waits[0]
        try:
            return tool.run(tables, now, arguments)
        except Refusal as refusal:
            is_wait = refusal.details.get("kind") in ("Late", "Lost")
            if refusal.code is ErrorCode.INTERNAL and is_wait:
                waits.append(refusal)
            raise

    return dataclasses.replace(tool, run=run)
