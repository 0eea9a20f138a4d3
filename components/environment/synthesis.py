"""A spec made into a service: read, compiled, seeded, gated, and what failed read once more.

Owns the second reading. A tool that its first reading did not bring through the gates is read as
the next likeliest operation; what comes of it is taken only where it loses nothing that worked. A
read never becomes a write or a write a read, unless the tool's own words said so to the gates. What
recordings taught changes no reading, and is dropped of every tool that works without it alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from components.environment.compiler.compile import compile_spec
from components.environment.gates.run import Admission, admit_service
from components.environment.reading.read import RuledOut, read_spec
from components.environment.reading.records import ToolReading
from components.environment.recorded.lessons import untaught
from components.records.blueprint import QuarantineReason, SeedData
from components.records.frozen import FrozenDict
from components.records.spec import ServiceSpec

_LEAST = 0.1
"""Probability that a second reading has at least."""
_TURNS = frozenset({"a write writes", "a read reads"})
"""Rules by which a tool's words say that its functional class is another."""
_BEYOND_WORDS = frozenset({QuarantineReason.UNSUPPORTED_SCHEMA, QuarantineReason.EXTERNAL})


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeService:
    """What a spec came to."""

    spec: ServiceSpec
    """The spec without what recordings taught to no good."""
    readings: FrozenDict[str, ToolReading]
    seed: SeedData
    why: Mapping[str, str]
    """Tool -> the rule that decided."""
    admission: Admission
    tests_run: int
    """Calls that the gates made, those of a second reading that was not taken included."""

    @property
    def offered(self) -> frozenset[str]:
        """Tools that hold what they promise."""
        return frozenset(self.admission.blueprint.tools)

    @property
    def deterministic(self) -> frozenset[str]:
        """Those of them that are not simulated."""
        tools = self.admission.blueprint.tools
        return frozenset(name for name, tool in tools.items() if not tool.simulated)


def make_service(spec: ServiceSpec) -> MadeService:
    """Return the service that a spec comes to, with no model."""
    lessons = frozenset(name for name, tool in spec.tools.items() if tool.observed is not None)
    plain = _read_twice(untaught(spec, lessons))
    if not lessons:
        return plain
    made = _made(spec, plain.readings)
    tests_run = plain.tests_run + made.tests_run
    if lost := plain.deterministic - made.deterministic:
        made = _made(untaught(spec, lost), plain.readings)
        tests_run += made.tests_run
    taken = plain if plain.deterministic - made.deterministic else made
    return replace(taken, tests_run=tests_run)


def _read_twice(spec: ServiceSpec) -> MadeService:
    """Return the service of one reading, or of two where the second loses nothing."""
    first = _made(spec, read_spec(spec))
    ruled_out = _ruled_out(spec, first)
    if not ruled_out:
        return first
    again = _made(spec, read_spec(spec, ruled_out))
    tests_run = first.tests_run + again.tests_run
    won = again.offered - first.offered
    if won and not again.offered > first.offered:
        ruled_out = {name: ruled_out[name] for name in won if name in ruled_out}
        again = _made(spec, read_spec(spec, ruled_out))
        tests_run += again.tests_run
    taken = again if again.offered > first.offered else first
    return replace(taken, tests_run=tests_run)


def _made(spec: ServiceSpec, readings: FrozenDict[str, ToolReading]) -> MadeService:
    blueprint, seed, why = compile_spec(spec, readings)
    admission = admit_service(spec, blueprint, seed)
    return MadeService(
        spec=spec,
        readings=readings,
        seed=seed,
        why=why,
        admission=admission,
        tests_run=admission.tests_run,
    )


def _ruled_out(spec: ServiceSpec, first: MadeService) -> RuledOut:
    """Return the readings that failed and have a likely other, by tool."""
    failed = {
        name: frozenset({first.readings[name].operation})
        for name, item in first.admission.blueprint.quarantined.items()
        if item.reason not in _BEYOND_WORDS
    }
    if not failed:
        return {}
    turned = {item.tool for item in first.admission.failures if item.rule in _TURNS}
    others = read_spec(spec, failed)
    return {
        name: operations
        for name, operations in failed.items()
        if others[name].confidence >= _LEAST
        and (name in turned or others[name].functional is first.readings[name].functional)
    }
