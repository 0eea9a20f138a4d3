"""What wrong references did to the verdicts on clean rollouts: counts by kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from attribution.records import EvidenceKind, Party
from loop.bench_attribution.judging import Judged
from loop.bench_attribution.scoring import CLEARED, UNDECIDED, Share, named
from loop.bench_attribution.wrong_references import WRONG_KINDS, WrongReference

_COMPONENTS = {party.value for party in Party} - {Party.POLICY.value}


@dataclass(slots=True)
class _Counts:
    instances: int = 0
    named: int = 0
    failures: Share = field(default_factory=Share)
    successes: Share = field(default_factory=Share)
    undecided: int = 0
    patched: int = 0

    def add(self, item: WrongReference, said: Judged) -> None:
        self.instances += 1
        self.named += any(
            fact.kind is EvidenceKind.REFERENCE
            for attribution in said.attributions
            for fact in attribution.evidence
        )
        self.patched += any(decided.acceptance.accepted for decided in said.decisions)
        for rollout, attribution in zip(item.rollouts, said.attributions, strict=True):
            who = named(attribution)
            if rollout.scored.passed is False:
                self.failures.add(who in _COMPONENTS)
                self.undecided += who == UNDECIDED
            elif rollout.scored.passed:
                self.successes.add(who != CLEARED)

    def as_json(self) -> dict[str, Any]:
        return {
            "instances": self.instances,
            "named": self.named,
            "failures_blamed_on_a_component": self.failures.as_json(),
            "undecided": self.undecided,
            "successes_called_false": self.successes.as_json(),
            "patched": self.patched,
        }


def count_wrong(found: Sequence[WrongReference], judged: Sequence[Judged]) -> dict[str, Any]:
    """Return the counts over all wrong references, and by kind.

    `named` counts the instances in which a verdict tells the user that a reference is doubtful,
    `patched` those in which a patch of a component was accepted because of one.

    Args:
        found: the wrong references.
        judged: what the product said of each.
    """
    everything, by_kind = _Counts(), {kind: _Counts() for kind in WRONG_KINDS}
    for item, said in zip(found, judged, strict=True):
        everything.add(item, said)
        by_kind[item.kind].add(item, said)
    rows = {kind: counts.as_json() for kind, counts in by_kind.items() if counts.instances}
    return {**everything.as_json(), "by_kind": rows}
