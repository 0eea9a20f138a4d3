"""A real language model of 135 million parameters as the author of a task: of no use, and harmless.

The model that comes with the program answers over HTTP. The claim is that nothing it writes becomes
a task, that this is said in one line, and that the recording replays it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.loop.test_author_small_model import small_model
from tests.loop.test_compose_model import NOBODY, compose
from tests.model.served import serve
from tests.policy.models import needs_model

SMALL = (
    "task.max_drafts_per_task=1", "task.author.max_answer_tokens=256",
    "task.author.timeout_seconds=1200", "task.author.budget.tokens=200000",
)  # fmt: skip


@needs_model
@pytest.mark.slow
def test_a_small_model_authors_no_task_and_says_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answer, said = small_model(), []
    with serve(answer) as served:
        assert compose(tmp_path / "live", served.base_url, 1, *SMALL) == 2
    said.append(capsys.readouterr().err.splitlines()[-1])

    replay = f"task.author.replay='{tmp_path / 'live' / 'author.jsonl'}'"
    assert compose(tmp_path / "again", NOBODY, 1, *SMALL, replay) == 2
    said.append(capsys.readouterr().err.splitlines()[-1])

    assert said[0] == said[1]
    assert "0 of 1 tasks were made by the model in 1 drafts" in said[0]
    print(said[0])
