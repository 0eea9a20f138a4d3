"""The attribution of a finished round, run again from the ledger alone, and held against it.

Reads the round's system, trajectories and scores, and judges the same rollouts anew. Nothing is
written. A verdict is a function of what the ledger holds, so that one that comes out otherwise says
that the program, or the record, is not what it was.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from enum import StrEnum

from attribution.modes import failure_modes
from attribution.records import Attribution, Evidence, FailureMode
from components.errors import ConfigError
from components.records.trajectory import ScoredTrajectory, Trajectory
from loop.blame import ATTRIBUTE, STAGE, Judgement, Scene, case_of, with_shortest_example
from loop.compute.pool import Pool
from loop.rollouts import Rolled
from loop.show.seen import Seen


class Recorded(StrEnum):
    """How what was found now stands to what the round has recorded."""

    EQUAL = "as recorded"
    DIFFERS = "NOT as recorded"
    ABSENT = "not in the record"
    """The round did not look at it (a success that was not drawn for the audit)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Again:
    """Verdicts and failure modes as they come out now, each held against the record."""

    attributions: dict[str, Attribution]
    """By rollout id."""
    verdicts: dict[str, Recorded]
    """By rollout id: verdict and evidence, byte for byte."""
    modes: tuple[FailureMode, ...]
    """The costliest first."""
    mode_states: dict[str, Recorded]
    """By mode id."""
    lost_modes: tuple[FailureMode, ...]
    """Modes that the round recorded and that do not come out now; empty where only one rollout was
    looked at."""

    @property
    def is_equal(self) -> bool:
        """Whether nothing differs from the record."""
        states = {*self.verdicts.values(), *self.mode_states.values()}
        return Recorded.DIFFERS not in states and not self.lost_modes

    def evidence_of(self, rollout_id: str) -> tuple[Evidence, ...]:
        """Return what speaks for and against, of one rollout; empty for an unknown one."""
        found = self.attributions.get(rollout_id)
        return () if found is None else found.evidence


def attribute_again(
    seen: Seen, pool: Pool, only: str | None, tell: Callable[[int, int], None]
) -> Again:
    """Judge again the rollouts that a round has judged.

    Args:
        seen: the round.
        pool: who does the work.
        only: one rollout, judged or not; None: all that the round has judged.
        tell: is told how many are done, and of how many.

    Raises:
        ConfigError: the round has no such rollout with a score.
    """
    recorded = seen.folder.units.records(STAGE, Attribution, only)
    rolled = _rolled(seen)
    chosen = sorted(recorded) if only is None else [only]
    for key in chosen:
        if key not in rolled.scored:
            raise ConfigError(f"rollout '{key}' has no score in {seen.where}; choose another")
    cases = ((key, case_of(rolled, key)) for key in chosen)
    found: dict[str, Attribution] = {}
    tell(0, len(chosen))
    with closing(pool.as_done(ATTRIBUTE, Scene(system=seen.before), cases)) as verdicts:
        for key, body in verdicts:
            found[key] = Judgement.model_validate(body).attribution
            tell(len(found), len(chosen))
    found = {key: found[key] for key in sorted(found)}
    modes = tuple(
        with_shortest_example(mode, rolled)
        for mode in failure_modes(tuple(found.values()), tuple(rolled.scored.values()))
    )
    before = _recorded_modes(seen)
    return Again(
        attributions=found,
        verdicts={key: _state(item, recorded.get(key)) for key, item in found.items()},
        modes=modes,
        mode_states={
            mode.mode_id: _mode_state(mode, before.get(mode.mode_id), only) for mode in modes
        },
        lost_modes=tuple(before[key] for key in sorted(before.keys() - {m.mode_id for m in modes}))
        if only is None
        else (),
    )


def _rolled(seen: Seen) -> Rolled:
    units = seen.folder.units
    groups = units.record_lists("rollout.score", ScoredTrajectory).values()
    return Rolled(
        units.records("rollout", Trajectory),
        {item.rollout_id: item for group in groups for item in group},
    )


def _recorded_modes(seen: Seen) -> dict[str, FailureMode]:
    result = seen.folder.stage_result(STAGE) or {"modes": []}
    modes = (FailureMode.model_validate(body) for body in result["modes"])
    return {mode.mode_id: mode for mode in modes}


def _state(now: Attribution, before: Attribution | None) -> Recorded:
    if before is None:
        return Recorded.ABSENT
    return Recorded.EQUAL if now == before else Recorded.DIFFERS


def _mode_state(now: FailureMode, before: FailureMode | None, only: str | None) -> Recorded:
    """Hold a mode against the record; of one rollout, only whether the mode knows it."""
    if before is None:
        return Recorded.DIFFERS if only is None else Recorded.ABSENT
    if only is not None:
        return Recorded.EQUAL if set(now.rollouts) <= set(before.rollouts) else Recorded.DIFFERS
    return Recorded.EQUAL if now == before else Recorded.DIFFERS
