"""How well the round did against the faults that were planted: the report's business, nobody
else's.

Found: a failure mode of this round or an earlier one blames the fault's component at its place.
Repaired: found, and an accepted patch changed that place without taking the thing out of service.
Wrongly blamed: a failure mode that blames a component at a place where nothing was planted.
"""

from __future__ import annotations

from dataclasses import dataclass

from attribution.evidence import same_place, touched_places
from attribution.records import FailureMode, Party
from components.records.frozen import content_hash
from components.records.patch import Patch
from loop.decided import Decided, Fate, decisions_of, is_removal
from loop.grow import reviewed_in
from loop.guard_records import Rollback, taken_back
from loop.ledger import RoundFolder
from loop.ledger_files import damaged, read_object
from loop.seed_round import PLANTED
from loop.summary import FaultCounts
from loop.units import UnitLog

_MEND = "restore it from a copy, or remove the folder of round 0 and run +round=0 to make it again"


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultOutcome:
    """What became of one planted fault."""

    fault: Patch
    mode: FailureMode | None
    """The failure mode that found it; None: missed."""
    found_in: int | None
    """Round in which it was found."""
    repair: Decided | None
    """The accepted patch that mended it."""
    repaired_in: int | None
    """Round in which it was mended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundBlame:
    """What one round blamed, and what it did about it."""

    number: int
    modes: tuple[FailureMode, ...]
    decisions: tuple[Decided, ...]


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
    path = folder.earlier_path(0) / PLANTED
    body = read_object(path, _MEND)
    if content_hash(body) != folder.earlier_result(0, "faults")["planted"]:
        raise damaged(path, "it is not what round 0 planted", _MEND)
    return tuple(Patch.model_validate(fault) for fault in body["faults"])


def earlier_blame(
    folder: RoundFolder, number: int, rollbacks: tuple[Rollback, ...]
) -> tuple[RoundBlame, ...]:
    """Return what the rounds before `number` blamed and did, from the first on.

    Args:
        folder: of the round.
        number: the round.
        rollbacks: of all rounds so far; a patch that was taken back has mended nothing.
    """
    found = []
    for earlier in range(1, number):
        modes = folder.earlier_result(earlier, "attribute")["modes"]
        reviewed = reviewed_in(folder.earlier_result(earlier, "grow"))
        with UnitLog(folder.earlier_path(earlier) / "units.sqlite") as units:
            decisions = (*(review.decided for review in reviewed), *decisions_of(units))
        gone = taken_back(rollbacks, earlier)
        decisions = tuple(item for item in decisions if item.patch.patch_id not in gone)
        found.append(
            RoundBlame(
                number=earlier,
                modes=tuple(FailureMode.model_validate(mode) for mode in modes),
                decisions=decisions,
            )
        )
    return tuple(found)


def score_faults(planted: tuple[Patch, ...], rounds: tuple[RoundBlame, ...]) -> FaultScore:
    """Match failure modes and accepted patches with the planted faults.

    Args:
        planted: the faults.
        rounds: every round up to this one, which is the last: what an earlier one found or mended
            stays found and mended. Wrong blame is counted in this one alone.
    """
    outcomes = []
    for fault in planted:
        found = [
            (item.number, mode) for item in rounds for mode in _blaming(item) if _names(mode, fault)
        ]
        mended = [
            (item.number, decision)
            for item in rounds
            for decision in item.decisions
            if found and _mends(decision, fault)
        ]
        found_in, mode = found[0] if found else (None, None)
        repaired_in, repair = mended[0] if mended else (None, None)
        outcomes.append(
            FaultOutcome(
                fault=fault,
                mode=mode,
                found_in=found_in,
                repair=repair,
                repaired_in=repaired_in,
            )
        )
    wrong = [
        mode for mode in _blaming(rounds[-1]) if not any(_names(mode, fault) for fault in planted)
    ]
    return FaultScore(tuple(outcomes), tuple(wrong))


def _blaming(item: RoundBlame) -> list[FailureMode]:
    return [mode for mode in item.modes if mode.party is not Party.POLICY]


def _names(mode: FailureMode, fault: Patch) -> bool:
    return mode.party.value == fault.component.value and any(
        same_place(mode.place, place) for place in touched_places(fault)
    )


def _mends(item: Decided, fault: Patch) -> bool:
    patch = item.patch
    if item.fate is not Fate.KEPT or patch.component is not fault.component:
        return False
    if is_removal(patch):
        return False
    return any(
        same_place(left, right) for left in touched_places(patch) for right in touched_places(fault)
    )
