"""Whether sampled outcomes speak against an accepted patch: exact tests on pairs, and their power.

A pair is one rollout of a task before and after the patches, with one seed. Pairs only guard: what
they do not decide stands, and nothing is accepted because of them. Rollouts of one task resemble
each other, so that the true error rates are somewhat larger than the figures.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache

from attribution.records import Guard, GuardVerdict

WHOLE = "all"
"""Stands for every patch of the round together where a patch is named."""
_DIGITS = 6
_TINY = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One rollout before and after."""

    task_id: str
    was: bool
    """Whether it passed before."""
    now: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Guards:
    """What the pairs of a round say."""

    patches: tuple[Guard, ...]
    """One a patch, in the order in which they were given."""
    whole: Guard | None
    """Of all pairs together; None where there is no patch."""


def guard_patches(
    pairs: Sequence[Pair],
    touched: Mapping[str, AbstractSet[str]],
    margin: float,
    alpha: float,
) -> Guards:
    """Return what the pairs say of each patch and of all together.

    Alpha is divided evenly over the patches and the whole (Bonferroni). Where several patches touch
    a task, its losses are laid to one of them: the one that lost the largest share of its pairs, of
    equals the last. The others are then judged by the pairs of the tasks that it does not touch.

    Args:
        pairs: outcomes of the same rollouts before and after.
        touched: patch -> tasks that it can change anything for, in the order of acceptance.
        margin: difference of pass rates that a patch may cost at most.
        alpha: chance of calling any harmless patch harmful, over all patches.
    """
    if not touched:
        return Guards(patches=(), whole=None)
    share = alpha / (len(touched) + 1)
    explained: set[str] = set()
    found: dict[str, Guard] = {}
    while len(found) < len(touched):
        guards = {
            key: _guard(key, [p for p in pairs if p.task_id in tasks - explained], margin, share)
            for key, tasks in touched.items()
            if key not in found
        }
        harmful = [item for item in guards.values() if item.verdict is GuardVerdict.HARMFUL]
        if not harmful:
            found |= guards
            break
        order = list(touched)
        worst = max(
            harmful,
            key=lambda it: ((it.lost - it.won) / it.pairs, it.lost, order.index(it.patch_id)),
        )
        found[worst.patch_id] = worst
        explained |= touched[worst.patch_id]
    whole = _guard(WHOLE, pairs, margin, share)
    return Guards(patches=tuple(found[key] for key in touched), whole=whole)


def _guard(patch_id: str, pairs: Sequence[Pair], margin: float, alpha: float) -> Guard:
    lost = sum(pair.was and not pair.now for pair in pairs)
    won = sum(pair.now and not pair.was for pair in pairs)
    p = round(harm_p(lost, won), _DIGITS)
    margin_p = round(non_inferiority_p(len(pairs), lost, won, margin), _DIGITS)
    verdict = GuardVerdict.TOO_FEW
    if margin_p <= alpha:
        verdict = GuardVerdict.KEPT
    elif p <= alpha:
        verdict = GuardVerdict.HARMFUL
    return Guard(
        patch_id=patch_id,
        pairs=len(pairs),
        lost=lost,
        won=won,
        p=p,
        margin_p=margin_p,
        margin=margin,
        alpha=round(alpha, _DIGITS),
        power=round(achieved_power(len(pairs), lost, won, margin, alpha), _DIGITS),
        verdict=verdict,
    )


def harm_p(lost: int, won: int) -> float:
    """Return the one-sided p of McNemar's exact test that the patches do no harm.

    Args:
        lost: pairs that passed before and fail after.
        won: pairs that failed before and pass after.

    Source: Q. McNemar, Note on the sampling error of the difference between correlated proportions
    (1947); exact, as a binomial test on the pairs that differ.
    """
    return _at_least(lost, lost + won, 0.5)


def non_inferiority_p(pairs: int, lost: int, won: int, margin: float) -> float:
    """Return the p of the hypothesis that the pass rate falls by the margin or more.

    Args:
        pairs: all pairs.
        lost: those that passed before and fail after.
        won: those that failed before and pass after.
        margin: between 0 and 1.

    Source: T. Tango, Equivalence test and confidence interval for the difference in proportions for
    the paired-sample design (1998), for the estimate of the share of won pairs under the
    hypothesis; the chance of so small a loss is then summed exactly instead of by the normal law.
    """
    if not pairs:
        return 1.0
    linear = (lost + won) * (1 - margin) + 2 * (lost - pairs) * margin
    root = math.sqrt(linear * linear + 8 * pairs * won * margin * (1 - margin))
    win = min(max((linear + root) / (4 * pairs), 0.0), (1 - margin) / 2)
    differ = min(2 * win + margin, 1.0)
    share = min((win + margin) / differ, 1.0)
    net = lost - won
    total = 0.0
    for count in range(pairs + 1):
        weight = _exactly(count, pairs, differ)
        if weight > _TINY and count + net >= 0:
            total += weight * (1 - _at_least((count + net) // 2 + 1, count, share))
    return min(max(total, 0.0), 1.0)


def achieved_power(pairs: int, lost: int, won: int, margin: float, alpha: float) -> float:
    """Return the chance that McNemar's test at alpha shows a fall of exactly the margin.

    As many pairs are taken to differ as did, and at least the margin.
    """
    if not pairs:
        return 0.0
    differ = max((lost + won) / pairs, margin)
    share = (1 + margin / differ) / 2
    total = 0.0
    for count in range(pairs + 1):
        weight = _exactly(count, pairs, differ)
        if weight > _TINY:
            total += weight * _at_least(_critical(count, alpha), count, share)
    return min(max(total, 0.0), 1.0)


@lru_cache(maxsize=4096)
def _critical(count: int, alpha: float) -> int:
    """Return the fewest losses among so many differing pairs that show harm; count + 1: none do."""
    tail, losses = 0.0, count + 1
    while losses and (tail := tail + _exactly(losses - 1, count, 0.5)) <= alpha:
        losses -= 1
    return losses


def _at_least(successes: int, count: int, share: float) -> float:
    return min(sum(_exactly(k, count, share) for k in range(max(successes, 0), count + 1)), 1.0)


def _exactly(successes: int, count: int, share: float) -> float:
    """Return the binomial probability of so many successes."""
    if share in (0.0, 1.0):
        return float(successes == count * share)
    ways = math.lgamma(count + 1) - math.lgamma(successes + 1) - math.lgamma(count - successes + 1)
    return math.exp(ways + successes * math.log(share) + (count - successes) * math.log1p(-share))
