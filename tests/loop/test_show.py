"""`show` on real rounds: what is printed is what is recorded, and nothing is written."""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from components.environment.catalog_loader import load_service
from loop.__main__ import main
from loop.show.look import look
from loop.verb_configs import SUBJECTS, ShowConfig
from tests.loop.played import files_of, unit_bodies


def shown(runs_dir: Path, **values: Any) -> str:
    """Return the page, after checking that it is narrow and that nothing is written."""
    nothing = dict.fromkeys(SUBJECTS)
    before = files_of(runs_dir)
    config = ShowConfig(
        **{
            **nothing,
            "from": None,
            "to": None,
            "out": None,
            "round": None,
            "stage": "rollout",
            "runs_dir": str(runs_dir),
            **values,
        }
    )
    out = look(config).text()
    assert max(map(len, out.splitlines())) <= 100
    assert files_of(runs_dir) == before
    return out


def refused(runs_dir: Path, capsys: pytest.CaptureFixture[str], *overrides: str) -> str:
    """Return the one line with which `show` refuses."""
    status = main(["show", f"runs_dir='{runs_dir}'", *overrides])
    out, err = capsys.readouterr()
    assert (status, out, err.count("\n")) == (2, "", 1)
    return err


def flat(text: str) -> str:
    """Return a text without what a narrow page adds to it."""
    return "".join(text.replace("|", "").split())


def ids(runs_dir: Path, stage: str = "rollout") -> list[str]:
    return list(unit_bodies(runs_dir, "a", 1, stage))


def decisions(runs_dir: Path) -> list[dict[str, Any]]:
    bodies = unit_bodies(runs_dir, "a", 1, "repair")
    return [item for body in bodies.values() for item in body]


@pytest.mark.parametrize("stage", ["rollout", "reeval"])
def test_a_rollout_is_shown_turn_by_turn(stage: str, played: Path) -> None:
    causes = set()
    for name, body in unit_bodies(played, "a", 1, stage).items():
        out = shown(played, run="a", round=1, rollout=name, stage=stage)
        bare = flat(out)

        assert out.count("\nTurn ") == len(body["turns"])
        for turn in body["turns"]:
            assert flat(turn["raw_text"]) in bare
            for observation in turn["observations"]:
                assert flat(observation["shown"]) in bare
                for change in (observation["call"] or {"changes": []})["changes"]:
                    kind, _, cause = change["cause"].partition(":")
                    causes.add(kind)
                    row = f"{change['service']}.{change['table']} {change['row_id']}"
                    assert flat(f"{row} by {kind} {cause}") in bare
                    old, new = change["before"], change["after"]
                    if old and new:
                        field = next(key for key in sorted(new) if old.get(key) != new[key])
                        pair = (
                            json.dumps(value, ensure_ascii=False)
                            for value in (old.get(field), new[field])
                        )
                        assert flat(field + " -> ".join(pair)) in bare
    assert stage == "rollout" or causes == {"effect", "reaction"}


def test_criteria_verdict_and_evidence_of_a_rollout_are_shown(played: Path) -> None:
    verdicts = unit_bodies(played, "a", 1, "attribute")
    scores = {
        item["rollout_id"]: item
        for group in unit_bodies(played, "a", 1, "rollout.score").values()
        for item in group
    }
    for name, found in verdicts.items():
        bare = flat(shown(played, run="a", round=1, rollout=name))

        for criterion, score in scores[name]["criteria"].items():
            mark = "met" if score["value"] == 1.0 else "notmet"
            assert flat(f"{mark}{criterion}"[:40]) in bare
        for blame in found["verdict"]["blamed"]:
            assert flat(f"{blame['party']}{blame['confidence']:.2f}{blame['place']}") in bare
        assert found["evidence"]
        for item in found["evidence"]:
            assert flat(f"{item['statement']} ({item['place']})")[:20] in bare


def test_a_task_is_shown_with_walk_gold_rubric_and_certificate(played: Path) -> None:
    has_dependency = False
    for draft in unit_bodies(played, "a", 0, "tasks").values():
        if "rejected" in draft:
            continue
        task, certificate = draft["task"], draft["certificate"]
        name = task["task_id"]
        out = shown(played, run="a", round=2, task=name)
        bare = flat(out)

        for step, gold in task["gold"].items():
            used = {
                source["step"]
                for source in gold["arguments"].values()
                if source["kind"] == "observation"
            }
            needs = ", ".join(sorted(used)) or "nothing"
            has_dependency = has_dependency or bool(used)
            assert f"{step} {gold['service']}.{gold['tool']} (needs {needs}" in out
            record = certificate["gold_run"][step]
            assert flat(json.dumps(record["arguments"], sort_keys=True, ensure_ascii=False)) in bare
        for criterion in draft["rubric"]["criteria"].values():
            assert flat(criterion["text"])[:25] in bare
        kinds = {probe["kind"] for probe in certificate["probes"].values()}
        assert {"gold", "null"} <= kinds
        assert all(f"  {kind} " in out for kind in kinds)
        assert f"gates version {certificate['gates_version']}" in out
        for service in task["world"]["services"]:
            assert service in out
    assert has_dependency


def test_a_task_that_was_changed_says_so_and_names_the_patch(played: Path) -> None:
    patch = next(
        item for item in decisions(played) if item["patch"]["artifact"].startswith("task/")
    )
    name = patch["patch"]["artifact"].removeprefix("task/")

    out = shown(played, run="a", round=1, task=name)

    assert "the task is no longer the one that was certified" in out
    assert patch["patch"]["patch_id"] in out


def test_a_service_is_shown_with_its_tools_in_words_and_its_reactions(played: Path) -> None:
    out = shown(played, run="b", service="helpdesk")
    blueprint = load_service("helpdesk").blueprint

    for tool, item in blueprint.tools.items():
        (row,) = [
            line for line in out.splitlines() if line.split()[:1] == [tool] and " of 5 " in line
        ]
        assert f"{item.difficulty} of 5" in row
        assert row.split()[1:3] == [item.functional.value, item.operation.value]
        assert all(flat(check.message) in flat(out) for check in item.checks.values())
    assert '(ticket.status = "resolved"), else precondition_failed' in out
    assert 'updates ticket (ticket): status = "closed"' in out
    reactions = out[out.index("Reactions out") :]
    assert "leave_moves_tickets" in reactions[reactions.index("Reactions in") :]
    assert "closing_archives_threads" in reactions[: reactions.index("Reactions in")]


def test_quarantined_tools_of_a_seed_round_are_shown_with_the_reason(played: Path) -> None:
    out = shown(played, run="d", service="notes")

    assert "inferred from names and schemas" in out
    rows = [line for line in out.splitlines() if line.startswith("  web_search ")]
    assert len(rows) == 2
    assert all("external" in row for row in rows)
    assert "simulated: Its answer" in rows[1]


def test_a_compiled_service_tells_what_its_tools_were_taken_for(played: Path) -> None:
    out = shown(played, run="d", service="notes")

    assert "What each tool was taken for" in out
    (row,) = [line for line in out.splitlines() if line.startswith("  create_note  create note")]
    assert "% sure" in row
    assert "verb family: create" in row


def test_a_patch_is_shown_with_its_difference_its_replays_and_the_decision(played: Path) -> None:
    for item in decisions(played):
        patch, acceptance = item["patch"], item["acceptance"]
        out = shown(played, run="a", round=1, patch=patch["patch_id"])

        tries = [it for it in decisions(played) if it["patch"]["patch_id"] == patch["patch_id"]]
        is_kept = any(it["acceptance"]["accepted"] for it in tries)
        assert ("\nKept" in out) is is_kept
        assert flat(patch["reason"])[:30] in flat(out)
        for name, check in acceptance["checks"].items():
            counts = [str(check[key]) for key in ("before", "after", "total")]
            assert [name, *counts] in [line.split()[:4] for line in out.splitlines()]
        for step in patch["operations"]:
            if step["op"] != "test":
                assert flat(f"{step['op']} {step['path']}") in flat(out)


def test_a_replaced_value_is_shown_old_and_new(played: Path) -> None:
    found = 0
    for item in decisions(played):
        old = {s["path"]: s["value"] for s in item["patch"]["operations"] if s["op"] == "test"}
        for step in item["patch"]["operations"]:
            if step["op"] == "replace" and isinstance(step["value"], int):
                out = shown(played, run="a", round=1, patch=item["patch"]["patch_id"])
                assert f"{step['path']}: {old[step['path']]} -> {step['value']}" in out
                found += 1
                break
    assert found


def test_the_last_finished_round_counts_unless_one_is_named(played: Path) -> None:
    name = ids(played)[0]

    assert "run a, round 2" in shown(played, run="a", rollout=name)
    assert "run a, round 1" in shown(played, run="a", rollout=name, round=1)
    assert "run c, round 0" in shown(played, run="c", service="mail")


def test_an_interrupted_round_can_be_looked_into(
    played: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = list(unit_bodies(played, "c", 1, "rollout"))
    judged = set(unit_bodies(played, "c", 1, "attribute"))
    assert 0 < len(judged) < len(names)

    for name in names:
        out = shown(played, run="c", round=1, rollout=name)
        assert "run c, round 1, not finished" in out
        assert ("not attributed yet" in out) is (name not in judged)
    err = refused(played, capsys, "run=c", "round=1", f"rollout={names[0]}", "stage=reeval")
    assert "the pass is not done" in err


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["run=a"], ["exactly one of rollout, task, service, patch, graph (got none)"]),
        (["run=a", "task=t", "patch=p"], ["exactly one of", "(got task, patch)"]),
        (["run=aa", "task=t"], ["there is no run 'aa'", "the nearest is a"]),
        (["run=store", "task=t"], ["got 'store'"]),
        (["run=a", "task=t", "round=9"], ["has no round 9", "0, 1, 2"]),
        (["run=a", "service=helpdsk"], ["no service 'helpdsk'", "the nearest is helpdesk"]),
        (["run=a", "service=zzz"], ["there are directory, helpdesk, mail"]),
        (["run=b", "patch=p_000"], ["there is none at all"]),
        (["run=a", "stage=second", "task=t"], ["stage must be one of rollout, reeval"]),
        (["run=a", "rollout="], ["rollout must not be empty"]),
    ],
    ids=lambda value: " ".join(value),
)
def test_what_is_not_there_is_one_line_with_the_nearest(
    overrides: list[str], words: list[str], played: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = files_of(played)

    err = refused(played, capsys, *overrides)

    for word in words:
        assert word in err
    assert files_of(played) == before


def test_a_mistyped_id_is_answered_with_the_id_that_was_meant(
    played: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = ids(played)[0]
    patch = decisions(played)[0]["patch"]["patch_id"]

    assert name in refused(played, capsys, "run=a", f"rollout={name[:-1]}9")
    assert "add round=1" in refused(played, capsys, "run=a", "round=2", f"patch={patch}")


def test_an_id_of_digits_is_text(played: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "no task '123'" in refused(played, capsys, "run=a", "task=123")


@pytest.mark.parametrize("place", ["manifest.json", "units.sqlite", "store"])
def test_damage_is_told_in_one_line(
    place: str, played: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = tmp_path / "runs"
    shutil.copytree(played, runs)
    name = ids(played)[0]
    if place == "store":
        paths = list((runs / "store").rglob("*.json"))
    else:
        paths = [runs / "a" / "round-0001" / place]
    for path in paths:
        whole = path.read_bytes()
        path.write_bytes(whole[: len(whole) // 2])

    err = refused(runs, capsys, "run=a", "round=1", f"rollout={name}")

    assert "damaged" in err or "missing" in err
    assert str(runs) in err


def test_what_a_model_wrote_cannot_move_the_cursor(played: Path, tmp_path: Path) -> None:
    from components.records.trajectory import Turn
    from loop.plain_page import Page
    from loop.show.rollout import _show_turn

    page = Page()
    _show_turn(page, Turn(index=0, raw_text="\033[2J\033]0;title\007", policy_version="v"))

    assert "\033" not in page.text()
    assert "\\x1b[2J\\x1b]0;title\\x07" in page.text()


def test_the_command_prints_the_page(played: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = files_of(played)

    status = main(["show", "service=mail", "run=b", f"runs_dir='{played}'"])

    out, err = capsys.readouterr()
    assert (status, err) == (0, "")
    assert out == shown(played, run="b", service="mail")
    assert files_of(played) == before


def test_a_unit_that_does_not_fit_its_record_is_one_line(
    played: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = tmp_path / "runs"
    shutil.copytree(played, runs)
    name = next(iter(unit_bodies(runs, "c", 1, "attribute")))
    body = b'{"verdict":7}'
    with contextlib.closing(
        sqlite3.connect(runs / "c" / "round-0001" / "units.sqlite")
    ) as database:
        database.execute(
            "UPDATE units SET body = ?, sha = ? WHERE stage = 'attribute' AND key = ?",
            (body, hashlib.sha256(body).hexdigest(), name),
        )
        database.commit()

    told = refused(runs, capsys, f"rollout={name}", "run=c", "round=1")

    assert f"unit attribute/{name}" in told
    assert "is damaged (" in told
