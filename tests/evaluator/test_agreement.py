"""Rubric and canonical comparison, made independently, agree on random runs; scoring is fast."""

from __future__ import annotations

import random
import time

from components.evaluator.compile import compile_rubric
from components.evaluator.rubric import is_pass, score_criteria, score_group
from components.evaluator.strict import strict_difference
from components.records.frozen import FrozenDict
from components.records.rubric import EvaluatorSettings
from components.records.system import System
from components.records.task import Task
from components.records.trajectory import Trajectory
from tests.evaluator.builders import Call, call, play, system, task, trajectory, world

POOL = [
    call("desk.create_ticket", subject="a", priority="low"),
    call("desk.create_ticket", subject="A", priority="low", notes="words"),
    call("desk.create_ticket", subject="b", priority="high"),
    call("desk.add_comment", ticket_id="tkt_1", body="x"),
    call("desk.add_comment", ticket_id="tkt_2", body="y"),
    call("desk.update_ticket", ticket_id="tkt_1", status="closed"),
    call("desk.update_ticket", ticket_id="tkt_1", status="open", priority="high"),
    call("desk.update_ticket", ticket_id="tkt_2", status="closed"),
    call("desk.set_tags", ticket_id="tkt_2", tags=["lan"]),
    call("desk.append_notes", ticket_id="tkt_3", notes="z"),
    call("desk.append_notes", ticket_id="tkt_3", notes="zz"),
    call("desk.add_comment", ticket_id="tkt_1", body="z"),
    call("mail.send", to="a@example.com", subject="s", body="b"),
    call("desk.get_ticket", ticket_id="tkt_2"),
]


def steps(calls: list[Call]) -> Task:
    """Return the task whose gold makes these calls, with arguments from nowhere."""
    return task({f"s{number}": (item.tool, {}) for number, item in enumerate(calls)})


def changed(calls: list[Call], chance: random.Random) -> list[Call]:
    """Return a run that differs a little, or only in its order."""
    run = list(calls)
    for _ in range(chance.randrange(3)):
        kind = chance.choice(["drop", "add", "swap", "order"])
        if kind == "order":
            chance.shuffle(run)
        elif kind == "add":
            run.insert(chance.randrange(len(run) + 1), chance.choice(POOL))
        elif run:
            place = chance.randrange(len(run))
            run[place : place + 1] = [] if kind == "drop" else [chance.choice(POOL)]
    return run


def test_rubric_and_canonical_comparison_agree_on_random_runs() -> None:
    chance = random.Random("agreement")
    here, settings = world(), EvaluatorSettings()
    outcomes = set()
    for _ in range(150):
        gold = chance.choices(POOL, k=4)
        run = changed(gold, chance)
        played, other = play(*gold), play(*run)
        rubric = compile_rubric(steps(gold), played.records, here, FrozenDict())

        scores = score_criteria(rubric, settings, here.initial, other.final, None)
        differences = strict_difference(here, played.final, other.final)

        # No criterion can tell a text without a fact from the text that was there before.
        passed = is_pass(scores, rubric, settings)
        is_same = all(item.is_free_text_only for item in differences)
        is_same_but_for_notes = all(
            item.is_free_text_only or item.fields == ("notes",) for item in differences
        )
        assert is_same <= bool(passed) <= is_same_but_for_notes, (gold, run)
        outcomes.add((passed, is_same, bool(differences)))
    assert outcomes >= {(True, True, False), (True, True, True), (False, False, True)}


def test_scoring_a_trajectory_of_eight_calls_is_fast() -> None:
    calls = [POOL[index] for index in (13, 0, 3, 13, 5, 8, 12, 7)]
    gold = steps(calls)
    rubric = compile_rubric(gold, play(*calls).records, world(), FrozenDict())
    here, group = system(rubric), [trajectory(*calls)] * 20

    best = min(_seconds(here, gold, group) for _ in range(5)) / len(group)

    assert all(item.passed for item in score_group(here, gold, group))
    # Three times what it takes, for a busy machine.
    assert best < 0.0045


def _seconds(here: System, gold: Task, group: list[Trajectory]) -> float:
    start = time.process_time()
    score_group(here, gold, group)
    return time.process_time() - start
