"""A budget that is spent ends an author's work in the best so far."""

from __future__ import annotations

import pytest

from components.environment.author.author import author_service
from components.environment.sandbox.limits import SandboxLimits
from components.environment.sandbox.walls import Walls, walls_problem
from components.environment.sandbox.workers import shared_workers
from components.model.config import ModelBudget
from components.model.recording import Recording
from components.model.records import Request, Tried
from tests.environment.author.scripted import SEED, author_config, empty_blueprint, small_spec


def greedy(request: Request, max_tokens: int) -> Tried:
    """Uses every token that it may."""
    prompt = sum(len(item.content.encode()) + 16 for item in request.messages)
    return Tried(status=200, text="No.", prompt_tokens=prompt, answer_tokens=max_tokens)


@pytest.mark.parametrize("tokens", [1, 3000, 20_000, 60_000])
def test_a_run_that_spends_its_budget_ends_in_the_best_so_far(tokens: int) -> None:
    problem = walls_problem(Walls.BUBBLEWRAP)
    if problem:
        pytest.skip(f"no walls here: {problem}")
    config = author_config(budget=ModelBudget(tokens=tokens, usd=0.0), revisions=50)
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
