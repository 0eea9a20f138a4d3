"""A real language model of 135 million parameters as the author: of no use, and harmless.

The model that comes with the program answers over HTTP. What it writes is no service; the claim is
that this ends in the blueprint, within the budget, and that the recording replays it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from components.environment.sandbox.walls import Walls, walls_problem
from tests.environment.author.scripted import serve
from tests.loop.test_author import NOBODY, read, synthesize
from tests.model.served import Play

_PROBLEM = walls_problem(Walls.BUBBLEWRAP)
MOST_TOKENS = 40_000
SMALL = [
    "environment.author.max_answer_tokens=256",
    "environment.author.timeout_seconds=1200",
    "environment.author.revisions=1",
    f"environment.author.budget.tokens={MOST_TOKENS}",
]


def small_model() -> Callable[[dict[str, Any]], Play]:
    """Return what answers a chat request with the built-in model, greedily."""
    from loop.policy.weights import load_model

    loaded = load_model("builtin", None)

    def answer(request: dict[str, Any]) -> Play:
        prompt = loaded.tokenizer.apply_chat_template(
            request["messages"], add_generation_prompt=True, return_tensors="pt", return_dict=True
        )
        num_prompt, most = prompt["input_ids"].shape[1], request["max_tokens"]
        made = loaded.model.generate(**prompt, max_new_tokens=most, do_sample=False)[0, num_prompt:]
        return Play(
            loaded.tokenizer.decode(made, skip_special_tokens=True),
            prompt_tokens=num_prompt,
            answer_tokens=len(made),
            finish="length" if len(made) >= most else "stop",
        )

    return answer


@pytest.mark.slow
@pytest.mark.skipif(bool(_PROBLEM), reason=f"no walls here: {_PROBLEM}")
def test_a_small_model_ends_in_the_blueprint_within_its_budget_and_replays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, answer = tmp_path / "exchanges.jsonl", small_model()
    shown, tried = [], []
    with serve(lambda *_: answer(served.requests[-1])) as served:
        more = [*SMALL, f"environment.author.record='{file}'"]
        assert synthesize(tmp_path, served.base_url, *more) == 0
        shown.append(capsys.readouterr().out)
        tried.append(read(tmp_path / "services" / "notes" / "author.json"))
    more = [*SMALL, f"environment.author.replay='{file}'"]
    assert synthesize(tmp_path, NOBODY, *more) == 0
    shown.append(capsys.readouterr().out)
    tried.append(read(tmp_path / "services" / "notes" / "author.json"))

    assert tried[0]["reason"].startswith("best so far: blueprint")
    stages = tried[0]["stages"].values()
    assert 0 < sum(item["prompt_tokens"] + item["answer_tokens"] for item in stages) <= MOST_TOKENS
    assert len(tried[0]["versions"]) == 2
    assert shown[0] == shown[1]
    assert _without_seconds(tried[0]) == _without_seconds(tried[1])
    print(json.dumps(tried[0]["stages"]))


def _without_seconds(tried: dict[str, Any]) -> dict[str, Any]:
    stages = {name: {**item, "seconds": 0} for name, item in tried["stages"].items()}
    return {**tried, "stages": stages}
