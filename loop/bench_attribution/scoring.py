"""Verdicts and patches held against what was planted: counts, and nothing is left out of them.

Right: the party named first is a member of the rollout's label. Undecided counts as wrong. The
place is right where it and the fault's lie on one path, or where an accepted patch at it brought
the clean outcome back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from attribution.evidence import same_place, split_place, touched_places
from attribution.records import Attribution, Decision, Party
from components.records.patch import Patch
from loop.bench_attribution.before import FoundBefore, Inherited
from loop.bench_attribution.judging import Judged
from loop.bench_attribution.planting import Instance, Rollout
from loop.bench_attribution.restoring import Restored

UNDECIDED, CLEARED = "undecided", "cleared"
_WHOLE = {"blueprint": 2, "seed": 2}
"""Keys that a place in a large artifact must have to name anything."""


@dataclass(slots=True)
class Share:
    """So many of so many."""

    hits: int = 0
    total: int = 0

    def add(self, is_hit: bool) -> None:
        """Count one."""
        self.hits += is_hit
        self.total += 1

    def as_json(self) -> dict[str, Any]:
        """Return hits, total and their share, null where there is none."""
        share = round(self.hits / self.total, 4) if self.total else None
        return {"hits": self.hits, "total": self.total, "share": share}


def named(item: Attribution) -> str:
    """Return whom a verdict names first: a party, `undecided` or `cleared`."""
    verdict = item.verdict
    if verdict.decision is Decision.BLAMED:
        return verdict.blamed[0].party.value
    return CLEARED if verdict.decision is Decision.CLEARED else UNDECIDED


def places_meet(place: str, fault: Patch) -> bool:
    """Return whether a blamed place lies on one path with the fault's."""
    artifact, keys = split_place(place)
    if len(keys) < _WHOLE.get(artifact.partition("/")[0], 0):
        return False
    return any(same_place(place, other) for other in (fault.place, *touched_places(fault)))


@dataclass(slots=True)
class Tally:
    """The counts of some instances of single faults."""

    component: Share = field(default_factory=Share)
    place: Share = field(default_factory=Share)
    first_place: Share = field(default_factory=Share)
    repaired: Share = field(default_factory=Share)
    removed: int = 0
    undecided: int = 0
    confusion: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(component at fault, whom the verdict names) -> live rollouts."""
    by_kind: dict[str, dict[str, Share]] = field(default_factory=dict)

    def add(self, instance: Instance, judged: Judged, restored: Restored) -> None:
        """Count one instance."""
        fault = instance.faults[0]
        owner = Party(fault.component.value)
        shares = self.by_kind.setdefault(
            instance.kind, {"component": Share(), "place": Share(), "repaired": Share()}
        )
        for item, verdict in zip(instance.rollouts, judged.attributions, strict=True):
            if not item.has_label or owner not in item.parties:
                continue
            who = named(verdict)
            is_right = who in {party.value for party in item.parties}
            self.component.add(is_right)
            shares["component"].add(is_right)
            self.undecided += who == UNDECIDED
            self.confusion[owner.value, who] += 1
            if who != owner.value:
                continue
            hits = [
                places_meet(blame.place, fault) or blame.place in restored.places
                for blame in verdict.verdict.blamed
            ]
            self.place.add(any(hits))
            self.first_place.add(hits[0])
            shares["place"].add(any(hits))
        self.repaired.add(restored.is_restored and not restored.is_removal)
        shares["repaired"].add(restored.is_restored and not restored.is_removal)
        self.removed += restored.is_restored and restored.is_removal

    def as_json(self) -> dict[str, Any]:
        """Return the counts."""
        return {
            "rollouts": self.component.total,
            "component_accuracy": self.component.as_json(),
            "place_accuracy": self.place.as_json(),
            "first_place_accuracy": self.first_place.as_json(),
            "undecided": self.undecided,
            "repair_rate": self.repaired.as_json(),
            "removals": self.removed,
            "confusion": confusion_json(self.confusion),
            "by_kind": {
                kind: {name: share.as_json() for name, share in shares.items()}
                for kind, shares in sorted(self.by_kind.items())
            },
        }


def confusion_json(counts: Counter[tuple[str, str]]) -> dict[str, dict[str, int]]:
    """Return row -> column -> rollouts, every cell."""
    columns = [*(party.value for party in Party), UNDECIDED, CLEARED]
    rows = sorted({row for row, _column in counts})
    return {row: {column: counts[row, column] for column in columns} for row in rows}


def blamed_on_clean(
    rollouts: Sequence[Rollout], attributions: Iterable[Attribution]
) -> dict[str, Any]:
    """Return how often a component was blamed where nothing was planted."""
    failures, successes = Share(), Share()
    row: Counter[tuple[str, str]] = Counter()
    components = {party.value for party in Party} - {Party.POLICY.value}
    for item, verdict in zip(rollouts, attributions, strict=True):
        who = named(verdict)
        if item.scored.passed is False:
            failures.add(who in components)
            row[Party.POLICY.value, who] += 1
        elif item.scored.passed:
            successes.add(who != CLEARED)
    return {
        "failures_blamed_on_a_component": failures.as_json(),
        "successes_called_false": successes.as_json(),
        "confusion": confusion_json(row),
    }


def both_named(instance: Instance, judged: Judged) -> bool:
    """Return whether the failure modes of a case name both of its faults at their places."""
    return all(
        any(
            mode.party.value == fault.component.value and places_meet(mode.place, fault)
            for mode in judged.modes
        )
        for fault in instance.faults
    )


def count_before(found: Sequence[FoundBefore], judged: Sequence[Judged]) -> dict[str, Any]:
    """Return who met the faults that were there before composition.

    Args:
        found: all kinds.
        judged: of the instances that have a system, in their order.
    """
    counts: Counter[str] = Counter()
    by_kind: dict[str, dict[str, int]] = {}
    remaining = iter(judged)
    for kind in found:
        here: Counter[str] = Counter()
        for item in kind.instances:
            said = next(remaining) if item.system is not None else None
            here[_who_met(item, said)] += 1
        counts += here
        by_kind[kind.kind] = {**here, "inert": kind.inert}
    names = ("gates", "verdicts", "drafts_only", "missed")
    return {
        **{name: counts[name] for name in names},
        "live": sum(counts.values()),
        "inert": sum(item.inert for item in found),
        "by_kind": by_kind,
    }


def _who_met(item: Inherited, said: Judged | None) -> str:
    if item.gates:
        return "gates"
    if said is None:
        return "drafts_only"
    owner = item.fault.component.value
    is_named = any(
        mode.party.value == owner and places_meet(mode.place, item.fault) for mode in said.modes
    )
    return "verdicts" if is_named else "missed"
