"""The verdicts on a service's tools, from what both sides answered to the same calls.

Owns the three counts: errors, shape, read after write. A tool that was never called with success
has no verdict, however often both sides refused it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from components.environment.fidelity.exchanges import Exchange
from components.environment.fidelity.records import Count, Example, ToolFidelity, Verdict
from components.environment.fidelity.shapes import is_prose, shape_difference
from components.environment.fidelity.visibility import counted, sightings_of
from components.environment.recorded.answers import error_kinds
from components.records.calls import ErrorCode
from components.records.frozen import FrozenDict, canonical_json, freeze

_MOST_SHOWN = 400


@dataclass(slots=True)
class _Tally:
    """One count of one tool while it grows."""

    agreed: int = 0
    of: int = 0
    example: Example | None = None

    def add(self, exchange: Exchange, problem: str) -> None:
        """Count one call; an empty problem is an agreement."""
        self.of += 1
        self.agreed += not problem
        if problem:
            new = _example(exchange, problem)
            if self.example is None or _size(new) < _size(self.example):
                self.example = new

    @property
    def failed(self) -> bool:
        return self.agreed < self.of

    def count(self) -> Count:
        return Count(agreed=self.agreed, of=self.of, example=self.example)


@dataclass(slots=True)
class _Facts:
    """What is known of one tool while exchanges are read."""

    errors: _Tally = field(default_factory=_Tally)
    shape: _Tally = field(default_factory=_Tally)
    writes: _Tally = field(default_factory=_Tally)
    has_succeeded: bool = False
    """On at least one side."""
    prose_alone: int = 0
    """Calls whose shape differs only in that the real answer is prose."""


def compare(
    offered: frozenset[str],
    unoffered: Mapping[str, str],
    writers: frozenset[str],
    sequences: Sequence[Sequence[Exchange]],
) -> FrozenDict[str, ToolFidelity]:
    """Return what is known of every tool.

    Args:
        offered: tools that are compared.
        unoffered: tool -> why it is not.
        writers: tools that change state.
        sequences: exchanges of each, up to where they can be compared.
    """
    facts = {name: _Facts() for name in offered}
    sightings = []
    for exchanges in sequences:
        made = [exchange for exchange in exchanges if exchange.is_made]
        for exchange in made:
            _add_call(facts[exchange.tool], exchange)
        sightings += list(sightings_of(made, writers))
    for tool, sighting, is_against in counted(sightings):
        facts[tool].writes.add(sighting.reader, sighting.told() if is_against else "")
    found = {name: _judged(item) for name, item in facts.items()}
    found |= {name: _unknown(why) for name, why in unoffered.items()}
    return FrozenDict(dict(sorted(found.items())))


def _add_call(facts: _Facts, exchange: Exchange) -> None:
    facts.errors.add(exchange, _error_difference(exchange))
    facts.has_succeeded |= exchange.real_ok or exchange.compiled_ok
    if exchange.is_readable:
        real = exchange.real_body
        problem = shape_difference(real, exchange.compiled_body)
        facts.shape.add(exchange, problem)
        facts.prose_alone += bool(problem) and is_prose(real)


def _error_difference(exchange: Exchange) -> str:
    if exchange.real_ok is not exchange.compiled_ok:
        return f"only the {'real' if exchange.real_ok else 'compiled'} one does it"
    if exchange.real_ok or exchange.real is None or exchange.compiled is None:
        return ""
    kinds = error_kinds(exchange.real)
    code = ErrorCode(exchange.compiled["error"]["code"])
    if not kinds or code in kinds:
        return ""
    said = " or ".join(sorted(kind.value for kind in kinds))
    return f"the real one says {said}, the compiled one {code.value}"


def _judged(facts: _Facts) -> ToolFidelity:
    counts = {"errors": facts.errors, "shape": facts.shape, "read after write": facts.writes}
    failed = [name for name, tally in counts.items() if tally.failed]
    if not facts.errors.of:
        verdict, why = Verdict.UNVERIFIED, "it was never called"
    elif not facts.has_succeeded:
        verdict, why = Verdict.UNVERIFIED, "every call failed on both sides"
    elif failed:
        verdict, why = Verdict.UNFAITHFUL, ", ".join(failed)
    else:
        verdict, why = Verdict.FAITHFUL, ""
    return ToolFidelity(
        verdict=verdict,
        why=why,
        errors=facts.errors.count(),
        shape=facts.shape.count(),
        writes=facts.writes.count(),
        differs_only_in_prose=failed == ["shape"]
        and facts.prose_alone == facts.shape.of - facts.shape.agreed,
    )


def _unknown(why: str) -> ToolFidelity:
    none = Count(agreed=0, of=0)
    return ToolFidelity(verdict=Verdict.UNVERIFIED, why=why, errors=none, shape=none, writes=none)


def _example(exchange: Exchange, problem: str) -> Example:
    real = exchange.real
    assert real is not None
    assert exchange.compiled is not None
    return Example(
        sequence=exchange.sequence,
        call=exchange.number,
        tool=exchange.tool,
        arguments=exchange.arguments,
        problem=problem,
        real=_cut(real.text if is_prose(exchange.real_body) else exchange.real_body),
        compiled=_cut(exchange.compiled),
    )


def _cut(value: Any) -> str:
    text = value if isinstance(value, str) else canonical_json(freeze(value)).decode()
    return text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 3]}..."


def _size(example: Example) -> tuple[int, int, int]:
    return len(canonical_json(example.arguments)), example.sequence, example.call
