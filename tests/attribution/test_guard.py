"""What pairs of outcomes say of a patch: exact figures, and who is held to have done the harm."""

from __future__ import annotations

import math

import pytest

from attribution.guard import Pair, achieved_power, guard_patches, harm_p, non_inferiority_p
from attribution.records import GuardVerdict

HARMFUL, KEPT, TOO_FEW = GuardVerdict.HARMFUL, GuardVerdict.KEPT, GuardVerdict.TOO_FEW


def pairs(task_id: str, *, lost: int = 0, won: int = 0, same: int = 0) -> list[Pair]:
    return [
        *[Pair(task_id=task_id, was=True, now=False)] * lost,
        *[Pair(task_id=task_id, was=False, now=True)] * won,
        *[Pair(task_id=task_id, was=True, now=True)] * same,
    ]


def verdicts(given: list[Pair], touched: dict[str, set[str]]) -> list[GuardVerdict]:
    guards = guard_patches(given, touched, margin=0.1, alpha=0.05)
    return [item.verdict for item in guards.patches]


@pytest.mark.parametrize(
    ("lost", "won", "p"), [(0, 0, 1.0), (5, 0, 1 / 32), (5, 1, 7 / 64), (1, 5, 63 / 64)]
)
def test_harm_is_the_binomial_tail_of_the_pairs_that_differ(lost: int, won: int, p: float) -> None:
    assert harm_p(lost, won) == pytest.approx(p)


def test_no_loss_in_n_pairs_has_the_chance_that_none_falls_where_a_tenth_does() -> None:
    assert non_inferiority_p(29, 0, 0, 0.1) == pytest.approx(0.9**29)
    assert non_inferiority_p(0, 0, 0, 0.1) == 1.0


def test_a_fall_by_the_margin_is_seldom_taken_for_less_whatever_differs_besides() -> None:
    pairs_in_all, margin = 60, 0.1
    for win in (0.0, 0.05, 0.2):
        wrong = 0.0
        for lost in range(pairs_in_all + 1):
            for won in range(pairs_in_all - lost + 1) if win else (0,):
                same = pairs_in_all - lost - won
                ways = math.comb(pairs_in_all, lost) * math.comb(pairs_in_all - lost, won)
                chance = ways * (win + margin) ** lost * win**won * (1 - 2 * win - margin) ** same
                if chance > 1e-7 and non_inferiority_p(pairs_in_all, lost, won, margin) <= 0.05:
                    wrong += chance
        assert 0.005 < wrong < 0.06, win


def test_power_is_the_chance_to_show_harm_where_just_the_margin_is_lost() -> None:
    # Half of 10 pairs are lost, none won: harm shows from 5 on, since 1/32 is not over 0.04.
    expected = sum(math.comb(10, k) for k in range(5, 11)) / 2**10

    assert achieved_power(10, 0, 0, 0.5, 0.04) == pytest.approx(expected)
    assert achieved_power(0, 0, 0, 0.5, 0.04) == 0.0


def test_too_few_pairs_never_speak_against_a_patch() -> None:
    assert verdicts(pairs("t", lost=4), {"p": {"t"}}) == [TOO_FEW]
    assert verdicts([], {"p": {"t"}}) == [TOO_FEW]
    assert verdicts(pairs("t", lost=8), {"p": {"t"}}) == [HARMFUL]


def test_a_small_loss_that_is_shown_to_be_small_is_let_pass() -> None:
    (kept,) = guard_patches(pairs("t", lost=12, same=588), {"p": {"t"}}, 0.1, 0.05).patches

    assert kept.p < kept.alpha
    assert kept.verdict is KEPT


def test_alpha_is_divided_over_the_patches_and_the_whole() -> None:
    given = pairs("t", lost=6)
    others = {f"q{number}": {"u"} for number in range(3)}

    assert verdicts(given, {"p": {"t"}}) == [HARMFUL]
    assert verdicts(given, {"p": {"t"}, **others})[0] is TOO_FEW


def test_the_loss_is_laid_to_the_patch_that_lost_most_of_its_pairs_and_to_no_other() -> None:
    given = pairs("t", lost=10, same=0) + pairs("u", same=60) + pairs("v", lost=1, same=60)
    touched = {"wide": {"t", "u", "v"}, "narrow": {"t"}, "same": {"t"}}

    guards = guard_patches(given, touched, margin=0.1, alpha=0.05)

    found = {item.patch_id: item for item in guards.patches}
    assert [item.verdict for item in guards.patches].count(HARMFUL) == 1
    assert found["wide"].verdict is KEPT
    assert (found["wide"].pairs, found["wide"].lost) == (121, 1)
    assert guards.whole is not None
    assert (guards.whole.pairs, guards.whole.lost) == (131, 11)
