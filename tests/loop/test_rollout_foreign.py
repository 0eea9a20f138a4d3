"""`rollout` on somebody else's tasks, and `attribute` on what it wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from loop.__main__ import main
from tests.loop.endpoint import reply, serve
from tests.task.foreign.packages import call, shop_tasks

FIRST = {
    "id": "first",
    "turns": ["Close o1, it is late."],
    "gold": [[call("close_order", order_id="o1", reason="late")]],
}
SECOND = {
    "id": "second",
    "turns": ["Close o2, it is lost."],
    "gold": [[call("close_order", order_id="o2", reason="lost")]],
}
CLOSES = (
    '<tool_call>{"name": "close_order", "arguments": {"order_id": "o1", "reason": "late"}}'
    "</tool_call>"
)


def _roll(folder: Path, url: str, *more: str) -> tuple[int, list[dict[str, Any]]]:
    tasks, out = shop_tasks(folder, FIRST, SECOND), folder / "played.jsonl"
    status = main(
        ["rollout", f"tasks='{tasks}'", "policy=openai", f"policy.base_url={url}",
         "policy.model=m", "concurrency=1", f"out='{out}'", *more]
    )  # fmt: skip
    return status, [json.loads(line) for line in out.read_text().splitlines()]


def test_rollouts_are_judged_by_the_benchmark_and_attributed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serve(reply(CLOSES), reply("Order o1 is closed.")) as url:
        status, lines = _roll(tmp_path, url)

    assert status == 0
    assert [(line["task"], line["reward"]) for line in lines] == [("first", 1.0), ("second", 0.0)]
    roles = [message["role"] for message in lines[0]["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "assistant"]
    assert lines[0]["messages"][1]["content"] == "Close o1, it is late."
    assert lines[0]["messages"][3]["content"] == "closed"
    assert "close_order(order_id: string" in lines[0]["messages"][0]["content"]

    capsys.readouterr()
    out = tmp_path / "judged"
    tasks, traces = tmp_path / "tasks.jsonl", tmp_path / "played.jsonl"
    main(["attribute", f"traces='{traces}'", f"tasks='{tasks}'", f"out='{out}'"])
    told = " ".join(capsys.readouterr().out.split())
    assert "1 passed, 1 failed" in told
    assert "order_id='o2', reason='lost'" in told
    verdicts = json.loads((out / "verdicts.json").read_text())
    assert verdicts["attributions"][1]["verdict"]["blamed"][0]["place"] == "turn/0"


def test_an_endpoint_that_breaks_is_no_reward_of_zero(tmp_path: Path) -> None:
    with serve((404, b"no such model")) as url:
        _, lines = _roll(tmp_path, url)

    assert all("reward" not in line and "404" in line["error"] for line in lines)


def test_a_call_of_no_tool_is_told_and_the_turns_are_limited(tmp_path: Path) -> None:
    unknown = '<tool_call>{"name": "close_ordr", "arguments": {}}</tool_call>'

    with serve(reply(unknown)) as url:
        _, lines = _roll(tmp_path, url, "max_turns=2")

    assert lines[0]["termination_reason"] == "max_turns"
    answer = lines[0]["messages"][3]
    assert answer["is_error"]
    assert "did you mean close_order?" in answer["content"]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["rollout", "tasks=tau2:retail", "policy=scripted", "out=x"], "policy=local"),
        (["rollout", "tasks=folder", "out=x", "policy=openai", "policy.model=m"], "tau2:retail"),
        (["attribute", "tasks=tau2:retail"], "tasks needs traces"),
        (["attribute", "traces=x", "python=p"], "python needs tasks"),
    ],
)
def test_mistake_is_one_line_with_status_2(
    capsys: pytest.CaptureFixture[str], arguments: list[str], line: str
) -> None:
    assert main(arguments) == 2
    assert line in capsys.readouterr().err
