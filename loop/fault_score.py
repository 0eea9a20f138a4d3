"""How well the round did against the faults that were planted: the report's business, nobody
else's.

Found: a failure mode blames the fault's component at its place. Repaired: found, and an accepted
patch changed that place without taking the thing out of service. Wrongly blamed: a failure mode
that blames a component at a place where nothing was planted.
"""

from __future__ import annotations

from dataclasses import dataclass

from attribution.records import FailureMode, Party
from components.records.frozen import content_hash
from components.records.patch import Patch
from loop.ledger import RoundFolder
from loop.ledger_files import damaged, read_object
from loop.repair import Decided
from loop.seed_round import PLANTED
from loop.summary import FaultCounts

_MEND = "restore it from a copy, or remove the folder of round 0 and run +round=0 to make it again"
REMOVALS = ("/quarantined", "retired")
"""A patch that only takes a tool or a task out of service is no repair."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultOutcome:
    """What became of one planted fault."""

    fault: Patch
    mode: FailureMode | None
    """The failure mode that found it; None: missed."""
    repair: Decided | None
    """The accepted patch that mended it."""


@dataclass(frozen=True, slots=True)
class FaultScore:
    """All planted faults, and the blame that fell where nothing was planted."""

    outcomes: tuple[FaultOutcome, ...]
    wrong: tuple[FailureMode, ...]

    @property
    def counts(self) -> FaultCounts:
        """The figures of the summary."""
        found = sum(item.mode is not None for item in self.outcomes)
        return FaultCounts(
            planted=len(self.outcomes),
            found=found,
            missed=len(self.outcomes) - found,
            wrongly_blamed=len(self.wrong),
            repaired=sum(item.repair is not None for item in self.outcomes),
        )


def read_planted(folder: RoundFolder) -> tuple[Patch, ...]:
    """Return the faults that round 0 of this run planted.

    Raises:
        LedgerError: the file is missing, or was changed since: every figure about faults rests
            on it.
    """
    path = folder.path.parent / "round-0000" / PLANTED
    body = read_object(path, _MEND)
    if content_hash(body) != folder.seed_result("faults")["planted"]:
        raise damaged(path, "it is not what round 0 planted", _MEND)
    return tuple(Patch.model_validate(fault) for fault in body["faults"])


def score_faults(
    planted: tuple[Patch, ...], modes: tuple[FailureMode, ...], decisions: tuple[Decided, ...]
) -> FaultScore:
    """Match failure modes and accepted patches with the planted faults."""
    blaming = [mode for mode in modes if mode.party is not Party.POLICY]
    outcomes = []
    for fault in planted:
        mode = next((mode for mode in blaming if _names(mode, fault)), None)
        repair = next((item for item in decisions if _mends(item, fault)), None)
        outcomes.append(FaultOutcome(fault=fault, mode=mode, repair=repair if mode else None))
    wrong = [mode for mode in blaming if not any(_names(mode, fault) for fault in planted)]
    return FaultScore(tuple(outcomes), tuple(wrong))


def _names(mode: FailureMode, fault: Patch) -> bool:
    return mode.party.value == fault.component.value and any(
        _meet(mode.place, place) for place in _places(fault)
    )


def _mends(item: Decided, fault: Patch) -> bool:
    patch = item.patch
    if not item.acceptance.accepted or patch.component is not fault.component:
        return False
    if any(mark in place for place in _places(patch) for mark in REMOVALS):
        return False
    return any(_meet(left, right) for left in _places(patch) for right in _places(fault))


def _places(patch: Patch) -> list[str]:
    return [
        f"{patch.artifact}#{operation.path}"
        for operation in patch.operations
        if operation.op != "test"
    ]


def _meet(left: str, right: str) -> bool:
    """Return whether one place contains the other."""
    shorter, longer = sorted((left, right), key=len)
    return (
        longer == shorter
        or longer.startswith(shorter.rstrip("/") + "/")
        or (shorter.endswith("#") and longer.startswith(shorter))
    )
