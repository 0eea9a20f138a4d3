"""What others would say of the same rollouts, with less: three ways to blame."""

from __future__ import annotations

from collections.abc import Sequence

from attribution.records import Party
from components.records.trajectory import StopReason, Trajectory
from loop.bench_attribution.planting import Rollout
from loop.bench_attribution.scoring import Share

_STARVED = {
    StopReason.INVALID_TURNS,
    StopReason.MAX_TURNS,
    StopReason.MAX_USER_TURNS,
    StopReason.CONTEXT_FULL,
}


class Baselines:
    """Counts over the rollouts that a fault truly decided."""

    def __init__(self) -> None:
        """Start at nothing."""
        self._shares = {
            "always_policy": Share(),
            "stop_reason_and_errors": Share(),
            "majority_of_siblings": Share(),
        }

    def add(self, rollouts: Sequence[Rollout], owner: Party) -> None:
        """Count the rollouts of one instance whose label holds its fault's owner."""
        for item in rollouts:
            if not item.has_label or owner not in item.parties:
                continue
            siblings = [
                other.scored.passed
                for other in rollouts
                if other.trajectory.task_id == item.trajectory.task_id
            ]
            said = {
                "always_policy": Party.POLICY,
                "stop_reason_and_errors": _by_rules(item.trajectory),
                "majority_of_siblings": _by_siblings(siblings),
            }
            for name, party in said.items():
                self._shares[name].add(party in item.parties)

    def as_json(self) -> dict[str, object]:
        """Return each baseline's component accuracy."""
        return {name: share.as_json() for name, share in self._shares.items()}


def _by_rules(trajectory: Trajectory) -> Party:
    """An episode that starved is the harness's, an internal or unknown-row error the
    environment's, everything else the policy's.
    """
    if trajectory.stop_reason in _STARVED:
        return Party.HARNESS
    codes = {
        str((item.call.envelope.get("error") or {}).get("code"))
        for turn in trajectory.turns
        for item in turn.observations
        if item.call is not None
    }
    return Party.ENVIRONMENT if codes & {"internal", "not_found"} else Party.POLICY


def _by_siblings(passed: Sequence[bool | None]) -> Party:
    """Where most siblings fail the task is to blame, where most pass the policy."""
    return Party.TASK if 2 * sum(item is True for item in passed) < len(passed) else Party.POLICY
