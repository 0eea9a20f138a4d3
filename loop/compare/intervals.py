"""Differences of two pass rates with a 95 % interval, paired where the tasks are the same.

Siblings of one task are not independent, so a paired interval is drawn over tasks and not over
rollouts. Nothing here is random from one call to the next: draws come from a fixed seed.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from loop.summary import pass_rate

Outcomes = Mapping[tuple[str, int], bool | None]
"""(task, index in its group) -> passed; None: unscored."""
DRAWS = 10_000
COMMON_SHARE = 0.5
"""Least share of each side's tasks that must be the same for a paired difference."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Pass rate of the second minus that of the first."""

    value: float | None
    """None when one side has nothing scored."""
    low: float | None
    high: float | None
    method: str
    """What is compared and how the interval comes about, in words."""
    tasks: int
    """Tasks that count; of an unpaired difference those of both sides."""
    pairs: int = 0
    """Rollouts with the same task and seed, scored on both sides; 0 when seeds differ."""
    only_first: int = 0
    """Pairs that only the first passes."""
    only_second: int = 0
    """Pairs that only the second passes."""
    p_value: float | None = None
    """Exact McNemar test of the pairs, two-sided; None without pairs."""


def difference(first: Outcomes, second: Outcomes, *, same_seeds: bool) -> Difference:
    """Compare two passes over tasks.

    Args:
        first: outcomes of what is compared to.
        second: outcomes of what is compared.
        same_seeds: whether a rollout of one task and index has the same seed on both sides.
    """
    ours, theirs = _scored(first), _scored(second)
    if same_seeds:
        paired = ours.keys() & theirs.keys()
        kept = {key: ours[key] for key in paired}, {key: theirs[key] for key in paired}
    else:
        kept = ours, theirs
    shares = [_shares(side) for side in kept]
    common = sorted(shares[0].keys() & shares[1].keys())
    most = max(len(_tasks(first)), len(_tasks(second)))
    if len(common) < 2 or len(common) < COMMON_SHARE * most:
        return _unpaired(ours, theirs)
    changes = [shares[1][task] - shares[0][task] for task in common]
    low, high, how = _interval(changes, kept, set(common))
    what = f"{len(common)} tasks, paired by task, other seeds"
    test: dict[str, int | float] = {}
    if same_seeds:
        what = f"{len(kept[0])} pairs of the same task and seed, {len(common)} tasks"
        only_first = sum(kept[0][key] and not kept[1][key] for key in kept[0])
        only_second = sum(kept[1][key] and not kept[0][key] for key in kept[0])
        test = {
            "pairs": len(kept[0]),
            "only_first": only_first,
            "only_second": only_second,
            "p_value": mcnemar(only_first, only_second),
        }
    return Difference(
        value=sum(changes) / len(changes),
        low=low,
        high=high,
        method=f"{what}; {how}",
        tasks=len(common),
        **test,  # type: ignore[arg-type]
    )


def mcnemar(only_first: int, only_second: int) -> float:
    """Return the exact two-sided p-value of that many pairs that disagree each way.

    Source: Q. McNemar, Note on the sampling error of the difference between correlated proportions
    (1947), with the binomial distribution instead of its chi-square approximation. It takes pairs
    for independent, which siblings of one task are not.
    """
    total, least = only_first + only_second, min(only_first, only_second)
    tail = sum(math.comb(total, count) for count in range(least + 1))
    return min(1.0, float(2 * tail / 2**total))


def newcombe(
    first_passed: int, first_total: int, second_passed: int, second_total: int
) -> tuple[float, float]:
    """Return the 95 % interval of the second rate minus the first, for independent rollouts.

    Source: R. G. Newcombe, Interval estimation for the difference between independent proportions
    (1998), method 10: two Wilson intervals joined.
    """
    rate, low, high = _wilson(first_passed, first_total)
    other, other_low, other_high = _wilson(second_passed, second_total)
    value = other - rate
    down = math.hypot(other - other_low, high - rate)
    up = math.hypot(other_high - other, rate - low)
    return max(-1.0, value - down), min(1.0, value + up)


def bootstrap(changes: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % percentile interval of the mean, by drawing whole tasks again.

    Args:
        changes: one difference of pass shares for each task.

    Source: B. Efron, Bootstrap methods: another look at the jackknife (1979). With few tasks it is
    too narrow.
    """
    rng, count = random.Random(0), len(changes)
    means = sorted(sum(rng.choices(changes, k=count)) / count for _ in range(DRAWS))
    return means[round(0.025 * DRAWS)], means[round(0.975 * DRAWS) - 1]


def _interval(
    changes: Sequence[float], kept: Sequence[Mapping[tuple[str, int], bool]], common: set[str]
) -> tuple[float, float, str]:
    if len(set(changes)) > 1:
        low, high = bootstrap(changes)
        few = ", too narrow with so few" if len(changes) < 10 else ""
        return low, high, f"bootstrap over tasks{few}"
    # Every task differs by the same amount: drawing them again would say that nothing is unsure.
    first, second = (
        [passed for (task, _), passed in side.items() if task in common] for side in kept
    )
    low, high = newcombe(sum(first), len(first), sum(second), len(second))
    return low, high, "Newcombe as if unpaired, since all tasks differ alike"


def _wilson(passed: int, total: int) -> tuple[float, float, float]:
    found = pass_rate([at < passed for at in range(total)])
    assert found.rate is not None, "nothing to count"
    return found.rate, found.low or 0.0, found.high or 0.0


def _unpaired(
    first: Mapping[tuple[str, int], bool], second: Mapping[tuple[str, int], bool]
) -> Difference:
    tasks = len(_tasks(first)) + len(_tasks(second))
    if not first or not second:
        return Difference(
            value=None, low=None, high=None, method="nothing scored on one side", tasks=tasks
        )
    counts = sum(first.values()), len(first), sum(second.values()), len(second)
    low, high = newcombe(*counts)
    return Difference(
        value=counts[2] / counts[3] - counts[0] / counts[1],
        low=low,
        high=high,
        method=f"unpaired, other tasks: {counts[1]} and {counts[3]} rollouts; Newcombe",
        tasks=tasks,
    )


def _scored(outcomes: Outcomes) -> dict[tuple[str, int], bool]:
    return {key: passed for key, passed in sorted(outcomes.items()) if passed is not None}


def _tasks(outcomes: Outcomes) -> set[str]:
    return {task for task, _index in outcomes}


def _shares(outcomes: Mapping[tuple[str, int], bool]) -> dict[str, float]:
    groups: dict[str, list[bool]] = {}
    for (task, _index), passed in outcomes.items():
        groups.setdefault(task, []).append(passed)
    return {task: sum(group) / len(group) for task, group in groups.items()}
