"""The last stage: figures to `summary.json`, a page to `report.html`.

Everything is derived from what the round has recorded. This is the only place that reads which
faults were planted.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import Any

from attribution.records import Decision
from components.artifacts import component_versions
from components.records.base import to_json
from components.records.frozen import FrozenDict, content_hash
from components.records.system import System
from loop.asking import patcher_counts
from loop.blame import Blamed
from loop.context import RoundContext, live_tasks
from loop.doubted import references_in_doubt
from loop.fault_score import (
    FaultScore,
    RoundBlame,
    earlier_blame,
    read_planted,
    score_faults,
)
from loop.grow import growth_in, reviewed_in
from loop.growth.counts import growth_counts
from loop.growth.records import GrowthRound
from loop.guard_records import rolled_back, taken_back
from loop.guarding import Guarded
from loop.ledger_files import write_file
from loop.mended_counts import (
    guard_counts,
    nothing_left,
    patch_counts,
    regression_counts,
)
from loop.policy.effort import Effort
from loop.repair import Repaired
from loop.report.page import render_round, render_seed
from loop.rollouts import Rolled, effort_of
from loop.seed_round import SeedRound
from loop.summary import (
    FaultCounts,
    PatchCounts,
    Reevaluation,
    RolloutCounts,
    RoundSummary,
    ServiceCounts,
    TaskCounts,
    ToolCounts,
    TrainingSummary,
    VerdictCounts,
    pass_rate,
)

SUMMARY = "summary.json"
REPORT = "report.html"


@dataclass(frozen=True, slots=True, kw_only=True)
class Passes:
    """The rollouts of a round."""

    first: Rolled
    kept: Rolled
    """The part of the first pass whose tasks are still live, to compare with the second."""
    second: Rolled
    """On the repaired system."""


@dataclass(frozen=True, slots=True)
class RoundReport:
    """What the report tells, for whoever tells it elsewhere."""

    summary: RoundSummary
    score: FaultScore


def report_seed(context: RoundContext, seed: SeedRound) -> RoundReport:
    """Write the summary and the page of round 0."""
    system = seed.system
    summary = RoundSummary(
        **_common(context, system, system),
        services=_service_counts(system, seed),
        tools=_tool_counts(system),
        tasks=TaskCounts(
            drafted=int(seed.tasks["drafted"]),
            certified=len(system.tasks),
            rejected=FrozenDict(seed.tasks["rejected"]),
        ),
        growth=growth_counts(system, GrowthRound()),
        rollouts=RolloutCounts(total=0, passed=0, failed=0, unscored=0),
        verdicts=VerdictCounts(attributed=0),
        faults=FaultCounts(
            planted=len(read_planted(context.folder)),
            found=0,
            missed=0,
            wrongly_blamed=0,
            repaired=0,
        ),
        patches=PatchCounts(proposed=0, accepted=0, rolled_back=0),
        reeval=None,
    )
    _write(context, summary, render_seed(summary, system))
    return RoundReport(summary, FaultScore((), ()))


def report_round(
    context: RoundContext,
    system: System,
    passes: Passes,
    blamed: Blamed,
    repaired: Repaired,
    guarded: Guarded,
    training: TrainingSummary | None,
) -> RoundReport:
    """Write the summary and the page of a round.

    Args:
        context: the open round.
        system: the system that the rollouts ran on.
        passes: the rollouts.
        blamed: verdicts and failure modes of the first pass.
        repaired: the system after the accepted patches, and every decision.
        guarded: the system that the round leaves, and what the guard found.
        training: what the policy was trained on; None when nothing was trained.
    """
    before, after = passes.first, passes.second
    grown = context.folder.stage_result("grow")
    reviewed = reviewed_in(grown)
    rollbacks = (*rolled_back(context.folder, context.number), *guarded.record.rollbacks)
    gone = taken_back(rollbacks, context.number)
    decided = (*(review.decided for review in reviewed), *repaired.decisions)
    this = RoundBlame(
        number=context.number,
        modes=blamed.modes,
        decisions=tuple(item for item in decided if item.patch.patch_id not in gone),
    )
    rounds = (*earlier_blame(context.folder, context.number, rollbacks), this)
    score = score_faults(read_planted(context.folder), rounds)
    outcomes = [item.passed for item in before.scored.values()]
    summary = RoundSummary(
        **_common(context, system, guarded.system),
        services=_service_counts(system, None),
        tools=_tool_counts(system),
        tasks=TaskCounts(
            drafted=int(grown["drafted"]),
            certified=len(live_tasks(system)),
            rejected=FrozenDict(grown["rejected"]),
            retired=len(guarded.system.retired),
        ),
        growth=growth_counts(system, growth_in(grown)),
        grown=growth_in(grown),
        rollouts=RolloutCounts(
            total=len(outcomes),
            passed=outcomes.count(True),
            failed=outcomes.count(False),
            unscored=outcomes.count(None),
        ),
        verdicts=_verdict_counts(blamed),
        doubts=tuple(
            item.place
            for item in references_in_doubt(
                context.config.run, context.number, blamed.attributions, repaired.decisions
            )
        ),
        faults=score.counts,
        patches=patch_counts(context, blamed, repaired, guarded.record),
        patcher=patcher_counts(context, repaired.decisions),
        guard=guard_counts(guarded.record),
        regressions=regression_counts(guarded.record),
        nothing_left=nothing_left(context, before, blamed, guarded.record),
        reeval=Reevaluation(
            before=pass_rate([item.passed for item in passes.kept.scored.values()]),
            after=pass_rate([item.passed for item in after.scored.values()]),
        ),
        sampled_tokens=_sampled_tokens(before),
        efforts=FrozenDict(_efforts(context)),
        training=training,
    )
    page = render_round(
        summary,
        system,
        before,
        blamed,
        repaired,
        after,
        score,
        reviewed=reviewed,
        guarded=guarded.record,
    )
    _write(context, summary, page)
    return RoundReport(summary, score)


def _common(context: RoundContext, before: System, after: System) -> dict[str, Any]:
    policy = context.config.policy
    return {
        "run": context.config.run,
        "round": context.number,
        "seed": context.config.seed,
        "policy": policy.kind if policy.kind == "scripted" else policy.model,
        "policy_simulated": policy.kind == "scripted",
        "system_before": content_hash(component_versions(before)),
        "system_after": content_hash(component_versions(after)),
        "seconds": FrozenDict(context.folder.seconds()),
        "cost": context.folder.cost(),
    }


def _sampled_tokens(rolled: Rolled) -> int | None:
    """Return how many tokens the policy sampled; None when it does not give them."""
    turns = [turn.token_ids for item in rolled.trajectories.values() for turn in item.turns]
    given = [len(ids) for ids in turns if ids is not None]
    return sum(given) if given else None


def _efforts(context: RoundContext) -> dict[str, Effort]:
    found = {stage: effort_of(context, stage) for stage in ("rollout", "reeval")}
    return {stage: effort for stage, effort in found.items() if effort is not None}


def _service_counts(system: System, seed: SeedRound | None) -> ServiceCounts:
    specs = system.reference.specs
    builtin = sum(spec.source == "builtin" for spec in specs.values())
    refused = {} if seed is None else dict(seed.services["refused"])
    return ServiceCounts(
        total=len(specs) + len(refused),
        builtin=builtin,
        compiled=len(specs) - builtin,
        admitted=len(specs),
        refused=FrozenDict(refused),
    )


def _tool_counts(system: System) -> ToolCounts:
    reasons: Counter[str] = Counter()
    total = 0
    for name, blueprint in system.environment.blueprints.items():
        total += len(system.reference.specs[name].tools)
        reasons.update(item.reason.value for item in blueprint.quarantined.values())
    quarantined = sum(reasons.values())
    return ToolCounts(
        total=total,
        deterministic=total - quarantined,
        simulated=0,
        quarantined=quarantined,
        reasons=FrozenDict(sorted(reasons.items())),
    )


def _verdict_counts(blamed: Blamed) -> VerdictCounts:
    counts: Counter[str] = Counter()
    for item in blamed.attributions.values():
        verdict = item.verdict
        if verdict.decision is Decision.BLAMED:
            counts[verdict.blamed[0].party.value] += 1
        elif verdict.decision is Decision.CLEARED:
            counts["clean"] += 1
        else:
            counts["undecided"] += 1
    return VerdictCounts(attributed=len(blamed.attributions), **counts)


def _write(context: RoundContext, summary: RoundSummary, page: str) -> None:
    folder = context.folder.path
    body = json.dumps(to_json(summary), indent=2, sort_keys=True) + "\n"
    write_file(folder / SUMMARY, body.encode(), point="summary")
    write_file(folder / REPORT, page.encode("utf-8", "backslashreplace"), point="report")
