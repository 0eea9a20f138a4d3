"""`attribute` on real rounds: what comes out again is what was recorded, and nothing is written."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from attribution.evidence import evidence
from attribution.records import EvidenceKind, Party
from loop.__main__ import main
from loop.compute.in_process import InProcess
from loop.compute.jobs import Job, SharedT, UnitT
from loop.compute.pool import Pool
from loop.ledger import Ledger
from loop.reattribute import Recorded, attribute_again
from loop.reattribute_page import again_page
from loop.show.seen import Seen
from tests.loop.played import files_of, unit_bodies


def _main(runs_dir: Path, *overrides: str) -> int:
    return main(["attribute", f"runs_dir='{runs_dir}'", *overrides])


def test_every_verdict_of_a_round_comes_out_as_it_was_recorded(
    played: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, out = files_of(played), tmp_path / "verdicts.json"

    status = _main(played, "run=a", "+round=1", f"out='{out}'")

    told, told_json = capsys.readouterr().out, json.loads(out.read_text())
    recorded = unit_bodies(played, "a", 1, "attribute")
    assert status == 0
    assert files_of(played) == before
    assert told_json["counts"] == {"equal": len(recorded), "differs": 0, "absent": 0}
    judged = {
        item["verdict"]["rollout_id"]: {key: item[key] for key in item if key != "recorded"}
        for item in told_json["attributions"]
    }
    assert judged == recorded
    assert [mode["recorded"] for mode in told_json["modes"]] == ["equal"] * len(told_json["modes"])
    for number, mode in enumerate(told_json["modes"], start=1):
        assert f"\n{number}. {mode['party']} " in told
        if mode["example"]:
            assert f"smallest example: {mode['example']}" in told
    assert told.splitlines()[-1] == str(out)


def test_one_rollout_is_judged_alone(played: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recorded = unit_bodies(played, "a", 1, "attribute")
    name = next(key for key, it in recorded.items() if it["verdict"]["decision"] == "blamed")

    status = _main(played, "run=a", "+round=1", f"rollout={name}")

    told = capsys.readouterr().out
    assert status == 0
    assert "1 rollouts judged again; 1 verdicts as recorded" in told
    assert not [other for other in recorded if other != name and other in told]


class _Altered(Pool):
    """Judges one rollout otherwise than the program does."""

    def as_done(
        self,
        job: Job[SharedT, UnitT],
        shared: SharedT,
        units: Iterable[tuple[str, UnitT]],
        *,
        concurrency: int = 1,
    ) -> Generator[tuple[str, Any], None, None]:
        judged = super().as_done(job, shared, units, concurrency=concurrency)
        for number, (key, body) in enumerate(judged):
            if number == 0:
                body["attribution"]["verdict"]["decision"] = "undecided"
                body["attribution"]["verdict"]["blamed"] = []
            yield key, body


def test_a_verdict_that_comes_out_otherwise_is_told(played: Path) -> None:
    pool = _Altered(InProcess, lambda _line: None)
    with Ledger(played, "a").read_round(1) as folder:
        seen = Seen(run="a", number=1, folder=folder)

        again = attribute_again(seen, pool, None, lambda _done, _of: None)

    pool.close()

    assert not again.is_equal
    assert list(again.verdicts.values()).count(Recorded.DIFFERS) == 1


def test_references_in_doubt_are_listed_once_and_apart(played: Path) -> None:
    doubt = evidence(
        EvidenceKind.REFERENCE,
        Party.ENVIRONMENT,
        "spec/directory#/tools/set_leave/rules/future",
        "doubtful: the sentence",
        against=False,
        contradicted_by="the certified run of t_1",
    )
    pool = Pool(InProcess, lambda _line: None)
    with Ledger(played, "a").read_round(1) as folder:
        seen = Seen(run="a", number=1, folder=folder)
        again = attribute_again(seen, pool, None, lambda _done, _of: None)
        doubted = {
            key: item.model_copy(update={"evidence": (*item.evidence, doubt)})
            for key, item in again.attributions.items()
        }

        told = again_page(seen, replace(again, attributions=doubted)).text()
        usual = again_page(seen, again).text()

    pool.close()

    assert told.count("doubtful: the sentence") == 1
    assert "References in doubt" in told
    assert "contradicted by: the certified run of t_1" in told
    assert "look again: python -m loop attribute run=a +round=1 rollout=" in told
    assert "References in doubt" not in usual


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (("run=c", "+round=1"), "round 1 of run 'c' is not finished"),
        (("run=a", "round=0"), "nothing is played in round 0"),
        (("run=a", "rollout=t_none-00"), "there is no rollout 't_none-00'"),
        (("run=nowhere",), "there is no run 'nowhere'"),
        (("format=otel",), "add traces=FILE"),
    ],
)
def test_what_cannot_be_judged_is_one_line(
    overrides: tuple[str, ...], words: str, played: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = _main(played, *overrides)

    out, err = capsys.readouterr()
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert words in err
