"""The harness's limits against the norm: gold, played from what this harness shows, needs at most
half of the turns.

A tighter limit is itself a finding. What gold needs is measured under limits that are no limits.
"""

from __future__ import annotations

from typing import Any

from attribution.evidence import evidence, place_of
from attribution.interventions.runs import Arm, Run, play_on
from attribution.meter import Intervention, metered
from attribution.records import Evidence, EvidenceKind, Party
from components.harness.oracle import write_calls
from components.records.harness import Limits

NORM_SHARE = 2
"""Gold may use one part in this many of a budget."""
_MIN_INVALID_TURNS = 2
"""One message that cannot be read must not end an episode."""
_CHARS_PER_TOKEN = 2
"""Fewest characters that a token of a call has on average."""
_FREE: dict[str, Any] = {
    "max_turns": 200,
    "max_user_turns": 100,
    "max_calls_per_turn": 16,
    "max_invalid_turns": 5,
    "max_turn_tokens": 100_000,
    "max_context_chars": 50_000_000,
    "max_observation_chars": 5_000_000,
}


def oracle_meets_norm(run: Run, limits: Limits) -> bool:
    """Return whether a run of the oracle passes within its share of the turns."""
    return run.passed is True and len(run.trajectory.turns) * NORM_SHARE <= limits.max_turns


@metered(Intervention.LIMITS)
def plain_limits(arm: Arm) -> tuple[Evidence, ...]:
    """Return the limits below the norm that show without a run of the oracle."""
    limits = arm.system.harness.limits
    found: list[tuple[str, int, str]] = []
    if limits.max_invalid_turns < _MIN_INVALID_TURNS:
        words = "one message that cannot be read ends the episode"
        found.append(("max_invalid_turns", _MIN_INVALID_TURNS + 1, words))
    certificate = arm.system.reference.certificates.get(arm.task.task_id)
    calls = () if certificate is None else certificate.gold_run.values()
    texts = [
        write_calls([(f"{call.service}__{call.tool}", call.arguments)], "hermes") for call in calls
    ]
    longest = max(map(len, texts), default=0)
    if limits.max_turn_tokens * _CHARS_PER_TOKEN < longest:
        words = f"gold writes {longest} characters in one message"
        found.append(("max_turn_tokens", longest, words))
    moves = 0 if arm.task.user is None else len(arm.task.user.moves) * NORM_SHARE
    if limits.max_user_turns < moves:
        words = f"the user says the request in {moves // NORM_SHARE} answers, half of the limit"
        found.append(("max_user_turns", moves, words))
    return tuple(_against(arm, item) for item in found)


@metered(Intervention.LIMITS)
def tight_limits(arm: Arm, normal: Run) -> tuple[Evidence, ...]:
    """Return the limits that keep the oracle from its norm.

    Args:
        arm: the system, all references but the harness's in place.
        normal: the oracle's run in it.
    """
    limits = arm.system.harness.limits
    if oracle_meets_norm(normal, limits):
        return ()
    return tuple(_against(arm, item) for item in _by_measuring(arm, limits))


def _against(arm: Arm, finding: tuple[str, int, str]) -> Evidence:
    name, needed, words = finding
    return evidence(
        EvidenceKind.BUDGET,
        Party.HARNESS,
        place_of("harness", "limits", name),
        f"harness limit {name} is {getattr(arm.system.harness.limits, name)}: {words}",
        task_id=arm.task.task_id,
        setting=name,
        needed=needed,
    )


def _by_measuring(arm: Arm, limits: Limits) -> list[tuple[str, int, str]]:
    free = _measured(arm, Limits.model_validate(_FREE))
    if free.passed is not True:
        return []  # no limit is to blame
    turns, chars = len(free.trajectory.turns), _chars(free)
    found = []
    if turns * NORM_SHARE > limits.max_turns:
        words = f"gold needs {turns} turns, and may use half of the limit"
        found.append(("max_turns", turns * NORM_SHARE, words))
    if chars * NORM_SHARE > limits.max_context_chars:
        words = f"gold's conversation has {chars} characters, and may use half of the limit"
        found.append(("max_context_chars", chars * NORM_SHARE, words))
    body = max(
        (len(item.shown) for turn in free.trajectory.turns for item in turn.observations), default=0
    )
    if not found and body > limits.max_observation_chars:
        words = f"an answer that gold needs has {body} characters: reading pages takes too long"
        found.append(("max_observation_chars", body, words))
    return found


def _measured(arm: Arm, limits: Limits) -> Run:
    harness = arm.system.harness.model_copy(update={"limits": limits})
    system = arm.system.model_copy(update={"harness": harness})
    return play_on(Arm(system=system, task=arm.task, world=arm.world), ())


def _chars(run: Run) -> int:
    trajectory = run.trajectory
    shown = sum(
        len(turn.raw_text) + len(turn.user) + sum(len(item.shown) for item in turn.observations)
        for turn in trajectory.turns
    )
    return len(trajectory.system_text) + len(trajectory.user_text) + shown
