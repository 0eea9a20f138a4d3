"""`compose task.author=model` from the command line, against a scripted endpoint."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from attribution.interventions.runs import arm_of, oracle_run, play
from components.records.trajectory import StopReason
from loop.__main__ import main
from loop.policy.scripted import ScriptedPolicy
from loop.tasks.folder import read_set
from tests.attribution.playing import NO_SLIPS
from tests.model.served import Play, serve
from tests.task.model_author.scripted import Author, good_design
from tests.task.model_author.wrong import NO, WRONG

NOBODY = "http://127.0.0.1:9/v1"
KEYS = (
    "task.author=model", "task.author.model=scripted", "task.author.revisions=0",
    "task.author.max_retries=0", "environment.services=[directory,helpdesk]",
    "task.k=2", "task.walk_length=4", "task.distractors=0",
    "task.max_drafts_per_task=2", "compute=local",
)  # fmt: skip


def compose(folder: Path, base_url: str, count: int, *more: str) -> int:
    keys = [*KEYS, f"task.author.base_url={base_url}", f"task.count={count}", f"out='{folder}'"]
    return main(["compose", *keys, f"runs_dir='{folder.parent / 'runs'}'", *more])


def card_of(folder: Path) -> Any:
    return json.loads((folder / "card.json").read_bytes())


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A set of two tasks; the second draft is refused, and its author told so."""
    folder = tmp_path_factory.mktemp("model") / "tasks"
    drafts = iter((good_design, WRONG["internal_id"].author.design, good_design))
    with serve(Author(design=lambda prompt: next(drafts)(prompt))) as served:
        assert compose(folder, served.base_url, 2) == 0
    return folder


def test_a_set_by_a_model_says_who_wrote_it_and_what_it_took(
    made: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    card = card_of(made)

    assert card["authors"] == {"model": 2}
    assert card["rejected"] == {"submit: reveals_id": 1}
    assert card["model"]["design"]["requests"] == 3
    assert card["model"]["probe"]["prompt_tokens"] == 100 * card["model"]["probe"]["requests"]
    assert "base_url" not in card["settings"]["task"]["author"]
    assert not list(made.glob("drafts*"))
    assert compose(made, NOBODY, 2) == 0  # a complete set is shown, and nobody is asked
    out = capsys.readouterr().out
    assert "authors" in out
    assert "model, design: 3 requests" in out


def test_every_certificate_of_a_model_s_set_holds_again(made: Path, tmp_path: Path) -> None:
    out = tmp_path / "result.json"

    assert main(["certify", f"tasks='{made}'", f"out='{out}'", "compute=local"]) == 0

    assert json.loads(out.read_bytes()) == {"tasks": 2, "hold": 2, "lapsed": {}}


def test_oracle_and_scripted_policy_pass_a_model_s_tasks_in_the_harness(made: Path) -> None:
    system = read_set(made)

    for name in system.tasks:
        arm = arm_of(system, name)
        for run in (oracle_run(arm), play(arm, ScriptedPolicy(arm.task, NO_SLIPS, 0))):
            assert run.passed
            assert run.trajectory.stop_reason is StopReason.FINISHED


def test_a_recorded_run_replays_to_the_same_bytes(made: Path, tmp_path: Path) -> None:
    folder = tmp_path / "again"

    assert compose(folder, NOBODY, 2, f"task.author.replay='{made / 'author.jsonl'}'") == 0

    for name in ("settings.json", "system.json", "graph.json", "tasks.jsonl", "card.json"):
        assert (folder / name).read_bytes() == (made / name).read_bytes()


def test_a_replay_of_something_else_says_so(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    replay = f"task.author.replay='{made / 'author.jsonl'}'"

    assert compose(tmp_path / "again", NOBODY, 2, replay, "seed=1") == 2

    assert "holds no answer to a request of stage explore" in capsys.readouterr().err


def test_a_model_that_is_of_no_use_makes_no_task_and_says_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serve(Author(design=NO)) as served:
        assert compose(tmp_path / "tasks", served.base_url, 1) == 2

    err = capsys.readouterr().err
    assert "0 of 1 tasks were made by the model in 2 drafts" in err
    assert "design: unusable_answer 2" in err
    assert "no JSON object" in err
    assert "set out to another folder" in err.splitlines()[-1]


def test_an_endpoint_that_goes_away_leaves_what_there_is_and_is_gone_on_with(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, designs = tmp_path / "tasks", [0]

    def design(prompt: str) -> Any:
        designs[0] += 1
        return good_design(prompt) if designs[0] == 1 else Play(status=503, body=b"{}")

    with serve(Author(design=design)) as served:
        assert compose(folder, served.base_url, 2) == 1
        assert len(read_set(folder).tasks) == card_of(folder)["missing"] == 1
        capsys.readouterr()
    with serve(Author()) as served:
        assert compose(folder, served.base_url, 2) == 0

    assert len(read_set(folder).tasks) == 2
    assert "missing" not in card_of(folder)
    assert not list(folder.glob("drafts*"))


def test_a_budget_is_said_and_a_larger_one_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, author = tmp_path / "tasks", Author()
    with serve(author) as served:
        small = "task.author.budget.tokens=300"
        assert compose(folder, served.base_url, 1, small) == 2
        assert "explore: budget 1" in capsys.readouterr().err
        assert author.stages == []
        assert compose(folder, served.base_url, 1) == 0

    assert card_of(folder)["authors"] == {"model": 1}


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("task.author=modle", "task.author must be one of grammar, model (got 'modle')"),
        ("task/author=modle", "task.author must be one of grammar, model (got 'modle')"),
        ("task.author.probe_calls=1", "task.author.probe_calls must be >= 2 (got 1)"),
        ("task.author.api_key_env=sk-secret", "task.author.api_key_env must be the name"),
    ],
)
def test_a_wrong_key_is_one_line(
    key: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compose(tmp_path / "tasks", NOBODY, 1, key) == 2

    err = capsys.readouterr().err
    assert said in err
    assert "secret" not in err
    assert err.count("\n") == 1


def test_keys_of_the_grammar_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compose(tmp_path / "tasks", NOBODY, 1, "task.policies=0.5") == 2

    assert "task.policies is for task.author=grammar" in capsys.readouterr().err


def test_an_endpoint_that_is_not_there_is_said_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compose(tmp_path / "tasks", NOBODY, 1) == 2

    assert "task.author.base_url=http://127.0.0.1:9/v1: no answer" in capsys.readouterr().err
