"""Budgets are hard: no request is made that could pass them, and costs are counted by stage."""

from __future__ import annotations

import pytest

from components.environment.author.author import author_service
from components.environment.author.budget import Budget, BudgetSpent
from components.environment.author.config import AuthorBudget
from components.environment.author.recording import Recording
from components.environment.author.records import Message, Request, Stage, Tried
from components.environment.sandbox.limits import SandboxLimits
from components.environment.sandbox.walls import Walls, walls_problem
from components.environment.sandbox.workers import shared_workers
from tests.environment.author.scripted import SEED, author_config, empty_blueprint, small_spec

PROMPT = (Message(role="user", content="x" * 984),)
"""A thousand tokens at most."""


def greedy(request: Request, max_tokens: int) -> Tried:
    """Uses every token that it may."""
    prompt = sum(len(item.content.encode()) + 16 for item in request.messages)
    return Tried(status=200, text="No.", prompt_tokens=prompt, answer_tokens=max_tokens)


def test_tokens_allow_what_is_left_and_then_nothing() -> None:
    budget = Budget(author_config(budget=AuthorBudget(tokens=6000, usd=0.0)))

    first = budget.allowance(PROMPT)
    budget.charge(Stage.WRITE, PROMPT, first, Tried(text="", prompt_tokens=900, answer_tokens=3000))
    second = budget.allowance(PROMPT)
    budget.charge(Stage.REVISE, PROMPT, second, Tried(text="", may_cost=True))

    assert (first, second) == (4096, 1100)
    assert budget.tokens == 6000
    with pytest.raises(BudgetSpent, match=r"budget.tokens=6000 is spent: 6000 are used"):
        budget.allowance(PROMPT)


def test_usd_allow_what_is_left_at_the_prices_of_both_ways() -> None:
    budget = Budget(
        author_config(
            budget=AuthorBudget(tokens=10**9, usd=0.01),
            usd_per_million_prompt_tokens=2.0,
            usd_per_million_answer_tokens=8.0,
        )
    )

    allowed = budget.allowance(PROMPT)
    budget.charge(Stage.WRITE, PROMPT, 700, Tried(text="", prompt_tokens=500, answer_tokens=500))

    assert allowed == 1000  # (0.01 - 0.002) / 8e-6
    assert budget.usd == pytest.approx(0.005)
    assert budget.stages[Stage.WRITE].usd == pytest.approx(0.005)
    assert budget.allowance(PROMPT) == 375
    budget.charge(Stage.WRITE, PROMPT, 375, Tried(text="", prompt_tokens=0, answer_tokens=375))
    with pytest.raises(BudgetSpent, match=r"budget.usd=0.01 is spent: 0.0080 are used"):
        budget.allowance(PROMPT)


@pytest.mark.parametrize("tokens", [1, 3000, 20_000, 60_000])
def test_a_run_that_spends_its_budget_ends_in_the_best_so_far(tokens: int) -> None:
    problem = walls_problem(Walls.BUBBLEWRAP)
    if problem:
        pytest.skip(f"no walls here: {problem}")
    config = author_config(budget=AuthorBudget(tokens=tokens, usd=0.0), revisions=50)
    workers = shared_workers(Walls.BUBBLEWRAP, SandboxLimits(deadline_seconds=20.0))

    authored = author_service(
        small_spec(), empty_blueprint(), SEED, config, Recording(None), workers=workers, door=greedy
    )

    used = sum(item.prompt_tokens + item.answer_tokens for item in authored.stages.values())
    assert authored.code is None
    assert authored.reason.startswith("best so far: blueprint")
    assert f"stopped early: budget.tokens={tokens} is spent" in authored.reason
    assert used <= tokens
    assert used > 0.6 * tokens or tokens <= 3000
