"""Claims about drawing tokens."""

from __future__ import annotations

import math
import random

import pytest
import torch

from loop.policy.draws import Draws


def log(*probs: float) -> list[float]:
    return [math.log(prob) if prob else -math.inf for prob in probs]


def test_a_draw_falls_where_its_number_says() -> None:
    draws = Draws(torch.tensor([log(0.4, 0.0, 0.1, 0.5), log(0.0, 0.0, 0.0, 1.0)]), 1.0)
    places = ((0, 0.39), (0, 0.45), (0, 0.55), (1, 0.45))

    tokens, logprobs = zip(*(draws.token(*place) for place in places), strict=True)

    assert tokens == (0, 2, 3, 3)
    assert logprobs == pytest.approx(log(0.4, 0.1, 0.5, 1.0), abs=1e-6)


@pytest.mark.parametrize("size", [3, 256, 700])
def test_draws_are_as_frequent_as_they_are_probable(size: int) -> None:
    logits = torch.randn(1, size, generator=torch.Generator().manual_seed(size))
    draws, wanted = Draws(logits, 1.0), logits[0].softmax(-1).double()
    numbers = [(index + 0.5) / 4000 for index in range(4000)]

    found = torch.zeros(size, dtype=torch.float64)
    for number in numbers:
        found[draws.token(0, number)[0]] += 1 / 4000

    assert (found - wanted).abs().max() < 1 / 2000


def test_a_temperature_changes_the_draw_and_not_the_log_probability() -> None:
    logits = torch.tensor([log(0.1, 0.9)])

    (hot, hot_logprob), (cold, cold_logprob) = (
        Draws(logits, temperature).token(0, 0.2) for temperature in (4.0, 0.1)
    )

    assert (hot, cold) == (0, 1)
    assert (hot_logprob, cold_logprob) == pytest.approx(log(0.1, 0.9), abs=1e-6)


def test_a_greedy_draw_looks_at_no_number() -> None:
    draws = Draws(torch.tensor([log(0.3, 0.6, 0.1)]), 0.0)

    assert {draws.token(0, number)[0] for number in (0.0, 0.5, 0.999)} == {1}


def test_what_is_impossible_is_never_drawn_not_even_at_the_edges() -> None:
    rng = random.Random(0)
    for size in (4, 300, 600):
        logits = torch.full((1, size), -math.inf)
        possible = sorted(rng.sample(range(size), 3))
        logits[0, possible] = torch.tensor([0.1, 2.0, -1.0])
        draws = Draws(logits, 1.0)

        edges = (0.0, 1e-12, 1 - 2**-53, *(rng.random() for _ in range(50)))

        assert {draws.token(0, number)[0] for number in edges} <= set(possible)
        assert draws.token(0, 0.0)[0] == possible[0]
        assert draws.token(0, 1 - 2**-53)[0] == possible[-1]
