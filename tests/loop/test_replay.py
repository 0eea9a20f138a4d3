"""`replay` on real rounds: one component swapped, recorded texts said again, then the oracle."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from loop.__main__ import main
from loop.ledger import Ledger
from loop.replaying import Replayed, replay_rollout
from loop.show.seen import Seen
from loop.verb_configs import ReplayConfig, SwapConfig
from tests.loop.played import files_of, unit_bodies

COMPONENTS = ("environment", "task", "harness", "evaluator")


def _replayed(runs_dir: Path, rollout: str, from_call: int | None, **swap: str) -> Replayed:
    config = ReplayConfig(
        rollout=rollout,
        run="a",
        runs_dir=str(runs_dir),
        round=1,
        stage="rollout",
        from_call=from_call,
        swap=SwapConfig(**{**dict.fromkeys(COMPONENTS), **swap}),
    )
    ledger = Ledger(runs_dir, "a")
    with ledger.read_round(1) as folder:
        return replay_rollout(ledger, Seen(run="a", number=1, folder=folder), config)


def _blamed(runs_dir: Path, party: str) -> dict[str, Any]:
    """Return the first verdict that blames a party."""
    return next(
        body
        for body in unit_bodies(runs_dir, "a", 1, "attribute").values()
        if body["verdict"]["blamed"] and body["verdict"]["blamed"][0]["party"] == party
    )


def test_with_nothing_swapped_every_rollout_comes_out_as_it_was_recorded(played: Path) -> None:
    scores = {
        item["rollout_id"]: item["passed"]
        for group in unit_bodies(played, "a", 1, "rollout.score").values()
        for item in group
    }
    for name, passed in scores.items():
        replayed = _replayed(played, name, None).exchanged

        assert replayed.unlike_record_at is None
        assert replayed.differs_at is None
        assert replayed.same.passed is replayed.other.passed is passed


def test_the_component_that_was_blamed_makes_the_difference_from_where_the_verdict_says(
    played: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    verdict = _blamed(played, "harness")["verdict"]
    name = verdict["rollout_id"]
    before = files_of(played)
    outcomes = {}
    for component in COMPONENTS:
        replayed = _replayed(played, name, 1, **{component: "1"}).exchanged
        outcomes[component] = (replayed.same.passed, replayed.other.passed)

    status = main(
        [
            "replay",
            f"runs_dir='{played}'",
            "run=a",
            "+round=1",
            f"rollout={name}",
            "from_call=1",
            "swap.harness=1",
        ]
    )

    told = capsys.readouterr().out
    assert outcomes["harness"] == (False, True)
    assert {outcomes[other] for other in COMPONENTS if other != "harness"} == {(False, False)}
    assert status == 0
    assert "why: the swap makes the difference" in told
    assert "said again  1 of " in told
    assert "First difference: turn " in told
    assert "recorded: failed" in told
    assert max(map(len, told.splitlines())) <= 100
    assert files_of(played) == before


def test_a_version_may_be_named_by_the_digits_of_its_hash(played: Path) -> None:
    name = _blamed(played, "harness")["verdict"]["rollout_id"]
    by_round = _replayed(played, name, 1, harness="1")
    assert by_round.version is not None

    by_hash = _replayed(played, name, 1, harness=by_round.version.digest[:12])

    assert by_hash.version is not None
    assert by_hash.version.digest == by_round.version.digest
    assert by_hash.exchanged.other.passed is True


def test_a_call_inside_a_turn_takes_the_whole_turn_from_the_recording(played: Path) -> None:
    for name, body in unit_bodies(played, "a", 1, "rollout").items():
        number = 0
        for turn in body["turns"]:
            for _ in turn["calls"]:
                assert _replayed(played, name, number).exchanged.said == turn["index"]
                number += 1
        assert _replayed(played, name, number).exchanged.said == len(body["turns"])
        return


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (("rollout=t_none-00",), "there is no rollout 't_none-00'"),
        (("rollout=NAME", "from_call=99"), "from_call must be 0 to "),
        (("rollout=NAME", "swap.task=7"), "swap.task names round 7, which run 'a' has not got"),
        (("rollout=NAME", "swap.task=ffffffff"), "names 0 versions of run 'a'"),
        (("rollout=NAME", "swap.task=ab"), "needs 6 digits"),
        (("rollout=NAME", "swap.task=0", "swap.harness=0"), "one component is swapped at a time"),
        ((), "rollout has no value"),
    ],
)
def test_what_cannot_be_replayed_is_one_line(
    overrides: tuple[str, ...], words: str, played: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = next(iter(unit_bodies(played, "a", 1, "rollout")))
    given = [text.replace("NAME", name) for text in overrides]

    status = main(["replay", f"runs_dir='{played}'", "run=a", "+round=1", *given])

    out, err = capsys.readouterr()
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert words in err


def test_a_version_that_lacks_the_task_is_refused(
    played: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = next(iter(unit_bodies(played, "a", 1, "rollout")))
    main(["replay", f"runs_dir='{played}'", "run=a", "+round=1", f"rollout={name}", "swap.task=zz"])
    listed = capsys.readouterr().err
    bare = listed.partition("there are ")[2].split()[0]  # of the services, before any task

    status = main(
        [
            "replay",
            f"runs_dir='{played}'",
            "run=a",
            "+round=1",
            f"rollout={name}",
            f"swap.task={bare}",
        ]
    )

    out, err = capsys.readouterr()
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "there is no task" in err
