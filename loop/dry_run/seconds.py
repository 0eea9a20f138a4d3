"""How long a stage is likely to take, from the rounds that are finished in this folder of runs.

A stage's seconds are divided by its units where it has units, so that a round of another size
counts too. Where no round like this one is finished, nothing is said: there is no guess.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from components.errors import LedgerError
from loop.config import STORE_FOLDER
from loop.ledger import Ledger
from loop.ledger_files import read_object
from loop.summary import RoundSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class PastRound:
    """What a finished round tells of its seconds."""

    name: str
    seconds: Mapping[str, float]
    units: Mapping[str, int]
    """Stage -> units that it worked on; a stage that is not there has none."""
    kind: tuple[Any, ...]
    """What decides how fast rollouts are: policy, model, who does the work, at once how many."""
    num_tasks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """Seconds to expect of one stage."""

    low: float
    middle: float
    high: float
    rounds: tuple[str, ...]
    """Rounds that it rests on."""


def kind_of(config: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return what decides how fast a unit of work is, from a configuration as JSON."""
    policy, compute = config.get("policy", {}), config.get("compute", {})
    return (
        policy.get("kind"),
        policy.get("model"),
        policy.get("device"),
        compute.get("kind", "local"),
        config.get("rollout", {}).get("concurrency"),
    )


def past_rounds(runs_dir: Path) -> tuple[PastRound, ...]:
    """Return the finished rounds of every run that can be read."""
    found = []
    for path in sorted(runs_dir.glob("*/round-[0-9][0-9][0-9][0-9]/timing.json")):
        folder = path.parent
        if folder.parent.name == STORE_FOLDER:
            continue
        ledger = Ledger(runs_dir, folder.parent.name)
        number = int(folder.name.removeprefix("round-"))
        try:
            if ledger.is_finished(number):
                found.append(_past_round(ledger, number))
        except (LedgerError, ValidationError, OSError):
            continue  # a damaged round tells nothing, and its own run will say so
    return tuple(found)


def expected_seconds(
    stage: str, units: int | None, config: Mapping[str, Any], past: Sequence[PastRound]
) -> Expected | None:
    """Return what a stage is likely to take; None when no finished round tells.

    Args:
        stage: name of the stage.
        units: units that it has still to work on; None for a stage without units, which counts
            only from rounds with as many tasks.
        config: the configuration of the round, as JSON, with `num_tasks` beside its keys.
        past: what there is to go by.
    """
    alike = [item for item in past if stage in item.seconds and item.kind == kind_of(config)]
    if units is None:
        told = {
            item.name: item.seconds[stage]
            for item in alike
            if item.num_tasks == config["num_tasks"]
        }
    else:
        told = {
            item.name: item.seconds[stage] / item.units[stage] * units
            for item in alike
            if item.units.get(stage)
        }
    if not told:
        return None
    values = sorted(told.values())
    return Expected(
        low=values[0],
        middle=statistics.median(values),
        high=values[-1],
        rounds=tuple(sorted(told)),
    )


def _past_round(ledger: Ledger, number: int) -> PastRound:
    folder = ledger.round_path(number)
    summary = RoundSummary.model_validate_json((folder / "summary.json").read_text())
    units = {"services": summary.services.total, "tasks": summary.tasks.certified}
    if summary.reeval is not None:
        units = {
            "rollout": summary.rollouts.total,
            "attribute": summary.verdicts.attributed,
            "reeval": summary.reeval.after.rollouts,
            "train": summary.reeval.after.rollouts,
        }
    seconds = read_object(folder / "timing.json")
    if summary.reeval is not None:
        seconds.pop("services", None)  # those that came in later are not all there are
    if summary.reeval is not None and summary.tasks.drafted:
        seconds.pop("grow", None)  # it counts for rounds without new tasks alone
    return PastRound(
        name=f"{ledger.run}/{folder.name}",
        seconds=seconds,
        units=units,
        kind=kind_of(ledger.config_of(number)),
        num_tasks=summary.tasks.certified,
    )
