"""Traces played again in a benchmark in tau2's shape: what is found, and whom it speaks against."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from attribution.foreign.edits import EditKind, needed_edits
from attribution.foreign.read import read_traces
from attribution.foreign.records import ForeignTrace
from attribution.foreign.replay import Replay
from attribution.foreign.replay_judge import judge_with_tasks
from attribution.records import Attribution, Decision, Party
from components.task.foreign.gates import pooled
from components.task.foreign.worker import Foreign, opened
from tests.task.foreign.packages import call, retail_task, retail_wheel

UNNEEDED, MISTAKE = "no longer needed", "ordered by mistake"
CANCEL = call("cancel_pending_order", order_id="#W1", reason=UNNEEDED)
OTHERWISE = call("cancel_pending_order", order_id="#W1", reason=MISTAKE)
RETURN = call(
    "return_delivered_order_items", order_id="#W2", item_ids=["kettle"], payment_method_id="card_1"
)
TOLD = "Cancel order #W1, it is no longer needed. Return the kettle of #W2 to card_1."
TASKS = (
    retail_task("both", TOLD, CANCEL, RETURN),
    retail_task("open", "Cancel order #W1 for some reason.", CANCEL),
    retail_task("word", "Cancel #W1, it is no longer needed. Ask how many days it takes.", CANCEL,
                communicate_info=["3"]),
)  # fmt: skip
LATE = {"role": "user", "content": "Please cancel #W1, it is no longer needed."}
BOTH = {"role": "user", "content": TOLD}
BYE = {"role": "user", "content": "Thanks. ###STOP###"}


@pytest.fixture
def benchmark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Foreign]:
    retail_wheel(tmp_path, *TASKS)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with opened("tau2:retail", None, None) as foreign:
        yield foreign


def _run(task: str, *messages: dict[str, Any], name: str = "run", reward: float = 0.0) -> Any:
    """Return one simulation as tau2 writes it."""
    return {
        "id": name,
        "task_id": task,
        "messages": list(messages),
        "reward_info": {"reward": reward},
        "termination_reason": "user_stop",
    }


def _says(text: str, *calls: dict[str, Any]) -> dict[str, Any]:
    made = [{"id": "c", "name": c["tool"], "arguments": c["arguments"]} for c in calls]
    return {"role": "assistant", "content": text, "tool_calls": made}


def _read(folder: Path, *runs: Any) -> tuple[ForeignTrace, ...]:
    path = folder / "results.json"
    path.write_text(json.dumps({"tasks": list(TASKS), "simulations": list(runs)}))
    return read_traces(path, None)


def _judged(benchmark: Foreign, folder: Path, *runs: Any) -> list[Attribution]:
    pool = pooled([benchmark.task(name) for name in benchmark.names])
    pairs = judge_with_tasks(benchmark, _read(folder, *runs), pool, lambda done, of: None)
    return [found for _, found in pairs]


def _first(found: Attribution) -> tuple[Party, str]:
    return found.verdict.blamed[0].party, found.verdict.blamed[0].place


def test_edits_are_those_that_turn_the_outcome_and_no_more(
    benchmark: Foreign, tmp_path: Path
) -> None:
    read = call("get_order_details", order_id="#W1")
    (trace,) = _read(tmp_path, _run("both", BOTH, _says("", read, OTHERWISE, RETURN), BYE))
    replay = Replay(benchmark, trace)

    (edit,) = needed_edits(replay)

    assert replay.has_same_outcome
    assert (edit.kind, edit.position, edit.keys) == (EditKind.OTHER_VALUES, 1, ("reason",))


def test_a_value_that_the_user_asked_for_otherwise_is_the_agents(
    benchmark: Foreign, tmp_path: Path
) -> None:
    (found,) = _judged(
        benchmark, tmp_path, _run("both", BOTH, _says("I will."), BYE, _says("", OTHERWISE, RETURN))
    )

    assert found.verdict.decision is Decision.BLAMED
    assert _first(found) == (Party.POLICY, "turn/1")


def test_a_wish_that_the_simulated_user_never_said_is_its_own_fault(
    benchmark: Foreign, tmp_path: Path
) -> None:
    (found,) = _judged(benchmark, tmp_path, _run("both", LATE, _says("Done.", CANCEL), BYE))

    assert _first(found) == (Party.HARNESS, "user_simulator#")
    assert "'kettle'" in found.evidence[0].statement


def test_the_same_wish_said_and_left_undone_is_the_agents(
    benchmark: Foreign, tmp_path: Path
) -> None:
    (found,) = _judged(benchmark, tmp_path, _run("both", BOTH, _says("Done.", CANCEL), BYE))

    assert _first(found) == (Party.POLICY, "turn/0")


def test_a_choice_that_nothing_tells_the_user_is_the_tasks(
    benchmark: Foreign, tmp_path: Path
) -> None:
    asks = _says(f"Is it {UNNEEDED}, or {MISTAKE}?")
    picks = {"role": "user", "content": "Ordered by mistake."}
    opens = {"role": "user", "content": "Please cancel #W1."}

    (found,) = _judged(
        benchmark, tmp_path, _run("open", opens, asks, picks, _says("Done.", OTHERWISE), BYE)
    )

    assert _first(found) == (Party.TASK, "task/open#/instruction")


@pytest.mark.parametrize(
    ("asked", "said", "party"),
    [
        ("How many days does it take?", "It takes three days.", Party.EVALUATOR),
        ("How many days does it take?", "I cannot tell.", Party.POLICY),
        ("Bye.", "Goodbye.", Party.HARNESS),
    ],
)
def test_what_must_be_said(
    benchmark: Foreign, tmp_path: Path, asked: str, said: str, party: Party
) -> None:
    question = {"role": "user", "content": asked}

    (found,) = _judged(
        benchmark, tmp_path, _run("word", LATE, _says("Done.", CANCEL), question, _says(said), BYE)
    )

    assert found.verdict.blamed[0].party is party


def test_siblings_that_pass_speak_for_the_task_and_others_alike_against_it(
    benchmark: Foreign, tmp_path: Path
) -> None:
    fails = _run("both", BOTH, _says("Done.", CANCEL), BYE)
    passes = _run("both", BOTH, _says("Done.", CANCEL, RETURN), BYE, name="won", reward=1.0)

    beside_one = _judged(benchmark, tmp_path, fails, passes)[0]
    all_alike = _judged(benchmark, tmp_path, fails, fails, fails)[0]

    (said,) = [item for item in beside_one.evidence if item.data["check"] == "siblings"]
    assert not said.against
    (said,) = [item for item in all_alike.evidence if item.data["check"] == "siblings"]
    assert said.against
    assert all_alike.verdict.blamed[-1].party is Party.TASK


def test_a_replay_that_comes_out_otherwise_blames_nobody(
    benchmark: Foreign, tmp_path: Path
) -> None:
    right = _run("both", BOTH, _says("Done.", CANCEL, RETURN), BYE, reward=0.0)

    (found,) = _judged(benchmark, tmp_path, right)

    assert found.verdict.decision is Decision.UNDECIDED
    assert "says of its calls that the task passes" in found.verdict.would_decide


def test_tasks_of_the_file_replace_the_benchmarks_own(benchmark: Foreign, tmp_path: Path) -> None:
    benchmark.use([retail_task("both", TOLD, CANCEL)])

    (found,) = _judged(
        benchmark, tmp_path, _run("both", BOTH, _says("Done.", CANCEL), BYE, reward=1.0)
    )

    assert found.verdict.decision is Decision.CLEARED
