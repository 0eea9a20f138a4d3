"""One round of the loop, in order, on one page.

    system  <- the ledger's version after the round before
    grow       services named since; tasks where there are too few, and by rule; gates admit
    rollout    G trajectories a task, scored criterion by criterion
    attribute  every failure and the audited successes -> evidence -> verdict
    repair     failure modes -> candidate patches -> kept or rolled back by replay
    reeval     the same tasks and seeds on the repaired system
    guard      outcomes in pairs, before and after -> a harmful patch is taken back
    train      the policy learns from what passed; the next round plays with what it became
    report     summary, page
    track      the same, and the data, to W&B; only once the round is finished

A finished stage is read back, never run again; inside a stage the same holds for each unit.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from components.artifacts import component_versions
from loop.blame import attribute
from loop.compute.pool import Pool, open_pool
from loop.config import RunConfig
from loop.console import Console
from loop.context import RoundContext, live_tasks
from loop.grow import grow, warn_of_keys_without_effect
from loop.growth.services import take_in
from loop.guarding import guard
from loop.ledger import Ledger, RoundFolder, load_system
from loop.repair import repair
from loop.reporting import REPORT, SUMMARY, Passes, report_round, report_seed
from loop.rollouts import roll_out
from loop.seed_round import build_seed
from loop.services import check_settings
from loop.summary import RoundSummary
from loop.tracked_round import track, track_seed
from loop.tracking import is_to_be_tracked
from loop.train.stage import train_policy, with_trained_policy


@dataclass(frozen=True, slots=True)
class RoundResult:
    """Where a round left its files."""

    number: int
    folder: Path
    was_finished: bool
    """True when there was nothing to do."""

    @property
    def report_path(self) -> Path:
        """The page that a person reads."""
        return self.folder / REPORT

    @property
    def summary_path(self) -> Path:
        """The figures of the round."""
        return self.folder / SUMMARY


def evolve(config: RunConfig, console: Console) -> RoundResult:
    """Run one round, and round 0 before it when it is missing.

    Raises:
        UserError: the configuration names what is not there, or what cannot be met.
        LedgerError: the round cannot run in this folder, now, with this configuration.
    """
    check_settings(config)
    ledger = Ledger(Path(config.runs_dir), config.run)
    number = ledger.next_round() if config.round is None else config.round
    ledger.refuse_gap(number)
    with ledger.locked(), open_pool(config.compute, console.line) as pool:
        if number == 0 or not ledger.is_finished(0):
            result = _run_seed_round(ledger, config, console, pool)
        return _run_round(ledger, number, config, console, pool) if number else result


def _run_seed_round(ledger: Ledger, config: RunConfig, console: Console, pool: Pool) -> RoundResult:
    with ledger.open_round(0, config) as folder:
        was_finished = _has_ended(folder, config)
        if not was_finished:
            context = RoundContext(0, config, folder, console, pool)
            seed = build_seed(context)
            report = report_seed(context, seed)
            folder.finish()
            track_seed(context, report, seed.system)
        return RoundResult(0, folder.path, was_finished)


def _run_round(
    ledger: Ledger, number: int, config: RunConfig, console: Console, pool: Pool
) -> RoundResult:
    with ledger.open_round(number, config) as folder:
        was_finished = _has_ended(folder, config)
        if not was_finished:
            context = with_trained_policy(RoundContext(number, config, folder, console, pool))
            warn_of_keys_without_effect(context)
            start = take_in(context, load_system(folder.store, folder.system_version()))
            system = grow(context, start)
            before = roll_out(context, "rollout", system)
            blamed = attribute(context, system, before)
            repaired = repair(context, system, before, blamed)
            is_same = component_versions(repaired.system) == component_versions(system)
            again = "rollout" if is_same else None
            after = roll_out(context, "reeval", repaired.system, same_as=again)
            guarded = guard(context, system, before, blamed, repaired, after)
            trained = train_policy(context, guarded.system, guarded.learned_from(after))
            kept = before.only(live_tasks(repaired.system))
            passes = Passes(first=before, kept=kept, second=after)
            report = report_round(context, system, passes, blamed, repaired, guarded, trained)
            folder.finish()
            track(context, report, system, before, blamed, repaired, after)
        return RoundResult(number, folder.path, was_finished)


def _has_ended(folder: RoundFolder, config: RunConfig) -> bool:
    """Return whether nothing is left to do.

    A report that is gone or broken is written again; what could not be logged is tried again.
    """
    try:
        RoundSummary.model_validate_json((folder.path / SUMMARY).read_bytes())
    except (OSError, ValueError):
        return False
    if not folder.is_finished or not (folder.path / REPORT).exists():
        return False
    return not is_to_be_tracked(config, folder.path)
