"""Failure modes: one defect of one component, with every rollout that shows it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from attribution.records import Attribution, Decision, Evidence, FailureMode, Party
from components.records.frozen import content_hash
from components.records.trajectory import ScoredTrajectory


def failure_modes(
    attributions: Sequence[Attribution], scored: Sequence[ScoredTrajectory]
) -> tuple[FailureMode, ...]:
    """Return the modes, the costliest first; the policy's own failures are no modes.

    A defect that evidence shows and that cost no rollout anything is a mode too, with no reward
    lost: it waits for a rollout that meets it.

    Args:
        attributions: verdicts of a round.
        scored: the results of the same rollouts.
    """
    results = {item.rollout_id: item for item in scored}
    rollouts: dict[tuple[Party, str], list[str]] = defaultdict(list)
    lost: dict[tuple[Party, str], float] = defaultdict(float)
    shown: dict[tuple[Party, str], dict[str, Evidence]] = defaultdict(dict)
    for item in sorted(attributions, key=lambda item: item.verdict.rollout_id):
        verdict = item.verdict
        if verdict.decision is Decision.BLAMED and verdict.blamed[0].party is not Party.POLICY:
            first = verdict.blamed[0]
            key = (first.party, first.place)
            rollouts[key].append(verdict.rollout_id)
            lost[key] += _lost(results.get(verdict.rollout_id), verdict.is_false_pass)
        for fact in item.evidence:
            if fact.against and fact.party is not Party.POLICY:
                shown[fact.party, fact.place][fact.evidence_id] = fact
    modes = [
        FailureMode(
            mode_id="m_" + content_hash([party.value, place])[:12],
            party=party,
            place=place,
            rollouts=tuple(rollouts.get((party, place), ())),
            lost_reward=lost.get((party, place), 0.0),
            example=_example(rollouts.get((party, place), ())),
            statement=_statement(facts),
            evidence_ids=tuple(sorted(facts)),
        )
        for (party, place), facts in shown.items()
    ]
    return tuple(
        sorted(modes, key=lambda mode: (-mode.lost_reward, -len(mode.rollouts), mode.place))
    )


def _lost(result: ScoredTrajectory | None, is_false_pass: bool) -> float:
    if is_false_pass or result is None or result.reward is None:
        return 1.0
    return 1.0 - result.reward


def _example(rollouts: Sequence[str]) -> str:
    return min(rollouts, default="")


def _statement(facts: dict[str, Evidence]) -> str:
    """Return the first fact that was found by a reference rather than by a continuation."""
    order = sorted(facts.values(), key=lambda fact: (fact.kind == "continuation", fact.evidence_id))
    return order[0].statement
