"""The default round, made small: the built-in model acts, is blamed, and learns."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from loop.__main__ import main
from loop.ledger import Ledger
from loop.summary import RoundSummary
from tests.policy.models import needs_model

SMALL = (
    "scale=smoke", "task.count=1", "rollout.group_size=1", "harness.max_turns=4", "tracking=none",
)  # fmt: skip


@needs_model
def test_the_built_in_model_plays_a_round_learns_and_plays_the_next(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = (f"runs_dir='{tmp_path}'", *SMALL)

    assert main(["evolve", "+round=1", *arguments]) == 0

    report = Path(capsys.readouterr().out.splitlines()[-1])
    assert report == tmp_path / "default" / "round-0001" / "report.html"
    assert "tokens a second" in report.read_text()
    told = RoundSummary.model_validate_json((report.parent / "summary.json").read_bytes())
    assert told.reeval is not None
    assert told.reeval.before.rollouts == told.reeval.after.rollouts == 1
    assert told.training is not None
    assert told.training.samples + sum(told.training.left_out.values()) == 1
    assert "held_out" not in told.training.left_out
    with Ledger(tmp_path, "default").read_round(1) as folder:
        turns = [
            turn
            for stage in ("rollout", "reeval")
            for body in folder.units.done(stage).values()
            for turn in body["turns"]
        ]
    assert all(len(turn["token_ids"]) == len(turn["logprobs"]) > 0 for turn in turns)
    assert any(turn["observations"] for turn in turns)
    if told.training.samples:
        policy = report.parent / "policy" / "delta.safetensors"
        assert policy.stat().st_size < 20e6
    json.dumps(told.model_dump(mode="json"))
