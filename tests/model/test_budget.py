"""Budgets are hard: no request is made that could pass them, and costs are counted by stage."""

from __future__ import annotations

import pytest

from components.model.budget import Budget, BudgetSpent
from components.model.config import ModelBudget
from components.model.records import Message, Tried
from tests.model.served import desk_config

PROMPT = (Message(role="user", content="x" * 984),)
"""A thousand tokens at most."""


def test_tokens_allow_what_is_left_and_then_nothing() -> None:
    budget = Budget(desk_config(budget=ModelBudget(tokens=6000, usd=0.0)))

    first = budget.allowance(PROMPT)
    budget.charge("write", PROMPT, first, Tried(text="", prompt_tokens=900, answer_tokens=3000))
    second = budget.allowance(PROMPT)
    budget.charge("revise", PROMPT, second, Tried(text="", may_cost=True))

    assert (first, second) == (4096, 1100)
    assert budget.tokens == 6000
    with pytest.raises(BudgetSpent, match=r"budget.tokens=6000 is spent: 6000 are used"):
        budget.allowance(PROMPT)


def test_usd_allow_what_is_left_at_the_prices_of_both_ways() -> None:
    budget = Budget(
        desk_config(
            budget=ModelBudget(tokens=10**9, usd=0.01),
            usd_per_million_prompt_tokens=2.0,
            usd_per_million_answer_tokens=8.0,
        )
    )

    allowed = budget.allowance(PROMPT)
    budget.charge("write", PROMPT, 700, Tried(text="", prompt_tokens=500, answer_tokens=500))

    assert allowed == 1000  # (0.01 - 0.002) / 8e-6
    assert budget.usd == pytest.approx(0.005)
    assert budget.stages["write"].usd == pytest.approx(0.005)
    assert budget.allowance(PROMPT) == 375
    budget.charge("write", PROMPT, 375, Tried(text="", prompt_tokens=0, answer_tokens=375))
    with pytest.raises(BudgetSpent, match=r"budget.usd=0.01 is spent: 0.0080 are used"):
        budget.allowance(PROMPT)
