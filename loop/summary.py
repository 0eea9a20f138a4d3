"""`summary.json`: what a round did, in counts with their denominators.

Everything here is decided by the recorded units of the round, so that a round that was killed and
resumed has the same summary as one that was not; only `run`, `seconds`, `cost` and what a model
cost may differ.
"""

from __future__ import annotations

import math

from pydantic import Field

from attribution.meter import Cost
from components.model.records import StageFigures
from components.records.base import Record
from components.records.frozen import FrozenDict
from loop.growth.records import GrowthRound
from loop.policy.effort import Effort


class ServiceCounts(Record):
    """Services of the system."""

    total: int
    builtin: int
    compiled: int
    """Made from the specification of a live MCP server."""
    admitted: int
    refused: FrozenDict[str, str] = FrozenDict()
    """Service -> why it was not admitted."""


class ToolCounts(Record):
    """Tools of the admitted services."""

    total: int
    deterministic: int
    simulated: int
    """Answered by a world model; none here."""
    quarantined: int
    reasons: FrozenDict[str, int] = FrozenDict()
    """Reason of quarantine -> tools."""


class TaskCounts(Record):
    """Tasks of the system."""

    drafted: int
    certified: int
    rejected: FrozenDict[str, int]
    """Reason -> drafts that did not become tasks."""
    retired: int = 0


class GrowthCounts(Record):
    """What the rules of growth added before the round played, and what its live tasks are like."""

    complexity: int = 0
    """Tasks that are one step harder than what the policy has solved."""
    breadth: int = 0
    """Tasks about services that hardly any task needed."""
    diversity: int = 0
    """Tasks of other kinds than those that prevailed."""
    made_room: int = 0
    """Solved tasks that were retired for them."""
    services: int = 0
    """Services that came in since the round before."""
    k: float = 0.0
    """Services that a live task needs, on average over the tasks that the round plays."""
    walk_length: float = 0.0
    """Calls of a live task's solution, on average."""
    distractors: float = 0.0
    """Services in the way of a live task, on average."""
    difficulty: float = 0.0
    """Sum of the difficulties (1 to 5) of a live task's calls, on average."""


class RolloutCounts(Record):
    """Rollouts of the round's first pass."""

    total: int
    passed: int
    failed: int
    unscored: int


class VerdictCounts(Record):
    """Verdicts by the component that is held to have decided the outcome; they add up."""

    attributed: int
    """Rollouts that were looked at: every failure and the audited successes."""
    environment: int = 0
    task: int = 0
    harness: int = 0
    evaluator: int = 0
    policy: int = 0
    undecided: int = 0
    clean: int = 0
    """Audited successes against which nothing speaks."""


class FaultCounts(Record):
    """Planted defects, and what became of them; all zero on a clean system."""

    planted: int
    found: int
    missed: int
    wrongly_blamed: int
    """Failure modes that blame a place where nothing was planted."""
    repaired: int


class PatchCounts(Record):
    """Candidate patches: proposed are those accepted, rolled back and held."""

    proposed: int
    accepted: int
    rolled_back: int
    held: tuple[str, ...] = ()
    """Patches that pass every gate and wait for a person."""
    reviewed: tuple[str, ...] = ()
    """Patches of earlier rounds that a person accepted, and that this round began with."""
    taken_back: tuple[str, ...] = ()
    """Patches of this round or the one before that the guard took back in this round."""
    left_harmful: tuple[str, ...] = ()
    """Patches that the guard finds harmful, and that a later one stands on."""
    is_spent: bool = False
    """Whether `attribution.max_patches` ended the search for repairs."""
    open_modes: int = 0
    """Failure modes of components that no accepted or held patch mends."""


class PatcherCounts(Record):
    """What a model was asked to mend, and what came of it."""

    model: str
    asked: int
    """Failure modes that it answered for."""
    unusable: int
    """Answers of which no patch came."""
    proposed: int
    """Patches that the gates were asked about: those accepted, held and rolled back."""
    accepted: int
    held: int
    tokens: int
    """Of prompts and answers; what a start that was killed had asked is counted too."""
    usd: float
    ended: FrozenDict[str, int] = FrozenDict()
    """What ended the work on a mode (accepted, declined, budget, ...) -> modes."""
    stages: FrozenDict[str, StageFigures] = FrozenDict()
    """Requests, tokens and usd of first proposals and of revisions."""


class GuardCounts(Record):
    """Accepted patches by what pairs of outcomes say of them; both looks of the round."""

    kept: int = 0
    harmful: int = 0
    too_few: int = 0
    is_whole_harmful: bool = False
    """Whether the patches of the round together cost passes: then all were taken back."""


class RegressionCounts(Record):
    """Entries of the regression set."""

    live: int = 0
    """That bind from here on."""
    pinned: int = 0
    """Brought by this round's patches."""
    retired: int = 0
    """Retired in this round."""


class PassRate(Record):
    """Passes of the scored rollouts of one pass over the tasks."""

    rollouts: int
    scored: int
    passed: int
    rate: float | None
    """passed / scored; None when nothing was scored."""
    low: float | None
    """Lower end of the 95 % Wilson interval."""
    high: float | None


class Reevaluation(Record):
    """The same tasks and seeds before and after the accepted patches."""

    before: PassRate
    after: PassRate


class TrainingSummary(Record):
    """What the policy was trained on, and what came of it."""

    method: str
    """Losses in the order in which they were used (`sft`, `sft+grpo`)."""
    samples: int
    """Trajectories that were trained on."""
    left_out: FrozenDict[str, int] = FrozenDict()
    """Reason -> trajectories that were not trained on."""
    figures: FrozenDict[str, float] = FrozenDict()
    """Name with its unit -> value (`steps`, `sft_loss_last`)."""
    curves: FrozenDict[str, tuple[float, ...]] = FrozenDict()
    """Name -> its value at each step, in order."""
    heldout: Reevaluation | None = None
    """Held-out tasks before and after training; None when none were played."""
    checkpoint: str | None = None
    """Folder of the trained policy, relative to the round's own; None when none was kept."""


class RoundSummary(Record):
    """One round in figures."""

    schema_version: int = Field(default=1, ge=1, le=1)
    run: str
    round: int
    seed: int
    policy: str
    """Version of the policy; `scripted...` is a simulation, not a model."""
    policy_simulated: bool
    system_before: str
    """Hash of the system that the round started from."""
    system_after: str
    services: ServiceCounts
    tools: ToolCounts
    tasks: TaskCounts
    growth: GrowthCounts = GrowthCounts()
    grown: GrowthRound = GrowthRound()
    """What grew, step by step, with the figures that asked for it."""
    rollouts: RolloutCounts
    verdicts: VerdictCounts
    doubts: tuple[str, ...] = ()
    """Places of references that others contradict, or that stand alone: for a person to correct."""
    faults: FaultCounts
    patches: PatchCounts
    patcher: PatcherCounts | None = None
    """None where no model is asked for patches."""
    guard: GuardCounts = GuardCounts()
    regressions: RegressionCounts = RegressionCounts()
    nothing_left: str = ""
    """Why there is nothing left to mend, in words; empty: there is, or it is not known."""
    reeval: Reevaluation | None
    """None for round 0, which rolls nothing out."""
    sampled_tokens: int | None = None
    """Tokens that the policy sampled in the first pass; None where it does not give them."""
    efforts: FrozenDict[str, Effort] = FrozenDict()
    """Pass -> what generation took in it, where a model ran here."""
    training: TrainingSummary | None = None
    """None when nothing was trained."""
    seconds: FrozenDict[str, float]
    """Wall time by stage, of the start that finished it."""
    cost: FrozenDict[str, Cost] = FrozenDict()
    """What the verdicts took by intervention, of the start that judged the last one."""


def pass_rate(outcomes: list[bool | None]) -> PassRate:
    """Count outcomes (None: unscored) and give the 95 % Wilson interval of the rate.

    Source: E. B. Wilson, Probable inference, the law of succession, and statistical inference
    (1927); siblings of one task are not independent, so the true interval is wider.
    """
    scored = [outcome for outcome in outcomes if outcome is not None]
    count, passed = len(scored), sum(scored)
    if not count:
        return PassRate(rollouts=len(outcomes), scored=0, passed=0, rate=None, low=None, high=None)
    z, share = 1.959964, passed / count
    middle = (share + z * z / (2 * count)) / (1 + z * z / count)
    spread = math.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    half = spread * z / (1 + z * z / count)
    return PassRate(
        rollouts=len(outcomes),
        scored=count,
        passed=passed,
        rate=round(share, 6),
        low=round(max(0.0, middle - half), 6),
        high=round(min(1.0, middle + half), 6),
    )
