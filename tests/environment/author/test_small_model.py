"""A real small model behind a real endpoint: its useless code ends in the blueprint, no worse."""

from __future__ import annotations

import pytest

from components.environment.author.author import author_service
from components.environment.sandbox.walls import Walls, walls_problem
from components.model.recording import Recording
from tests.environment.author.scripted import (
    SEED,
    ServedAuthor,
    author_config,
    empty_blueprint,
    serve,
    small_spec,
)
from tests.model.served import Play
from tests.policy.models import builtin_model, needs_model

_PROBLEM = walls_problem(Walls.BUBBLEWRAP)
_MAX_PROMPT_TOKENS, _MAX_ANSWER_TOKENS = 1200, 120


@needs_model
@pytest.mark.slow
@pytest.mark.skipif(bool(_PROBLEM), reason=f"no walls here: {_PROBLEM}")
def test_the_built_in_model_ends_in_best_so_far_blueprint() -> None:
    import torch

    loaded = builtin_model()
    running: list[ServedAuthor] = []

    def play(_stage: str, _place: int) -> Play:
        messages = running[0].requests[-1]["messages"]
        text = loaded.tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=True
        )
        ids = loaded.tokenizer(text, return_tensors="pt").input_ids[:, -_MAX_PROMPT_TOKENS:]
        with torch.inference_mode():
            out = loaded.model.generate(ids, max_new_tokens=_MAX_ANSWER_TOKENS, do_sample=False)
        new = out[0, ids.shape[1] :]
        said = loaded.tokenizer.decode(new, skip_special_tokens=True)
        print(f"--- {_stage}\n{said}")
        return Play(said, prompt_tokens=ids.shape[1], answer_tokens=len(new))

    with serve(play) as served:
        running.append(served)
        config = author_config(served.base_url, revisions=2, timeout_seconds=300.0)
        authored = author_service(small_spec(), empty_blueprint(), SEED, config, Recording(None))

    print(authored.reason)
    assert authored.code is None
    assert authored.seed == SEED
    assert authored.reason.startswith("best so far: blueprint (no version of the code could be use")
    assert [item.stage.value for item in authored.versions] == ["write", "revise", "revise"]
    assert served.stages == ["adversarial", "explore", "write", "write", "write"]
