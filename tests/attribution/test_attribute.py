"""Who is to blame: verdicts on rollouts of a small system that is clean, or has one defect."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from attribution.attribute import attribute_trajectory
from attribution.evidence import same_place
from attribution.facts import still_holds
from attribution.modes import failure_modes
from attribution.patchers.propose import propose
from attribution.patchers.task import respelled_steps
from attribution.records import Decision, Party
from attribution.review import review_task
from attribution.swap import body_of, swap
from components.records.frozen import thaw
from components.records.system import System
from components.records.trajectory import Failure, StopReason
from tests.attribution.hand_made import small_system
from tests.attribution.playing import NO_SLIPS, attribute_all, play_all, with_defect

TASK = "t_1"


@cache
def clean() -> System:
    return small_system(3)


def gold_argument(step: str, name: str) -> Any:
    return clean().reference.certificates[TASK].gold_run[step].arguments[name]


def seed_row(service: str, table: str, row_id: str) -> dict[str, Any]:
    row: dict[str, Any] = thaw(clean().environment.seeds[service].tables[table][row_id])
    return row


def defects() -> dict[str, tuple[str, str, list[tuple[str, str, Any]]]]:
    """Name -> artifact, place, operations."""
    person, ticket = gold_argument("s03", "assignee_id"), gold_argument("s03", "ticket_id")
    away = {**seed_row("helpdesk", "profile", person), "availability": "away"}
    assign, find = "/tools/assign_ticket", "/tools/search_tickets"
    body = body_of(clean(), f"task/{TASK}")
    number = body["gold"]["s01"]["arguments"]["/number"]
    vague = respelled_steps(body, [(number["start"], number["end"], "from yesterday")])
    override = f"/world/overrides/helpdesk~1profile~1{person}"
    row = f"/criteria/row:helpdesk.ticket:{ticket}"
    parsers = [f"/parsers/{name}/enabled" for name in ("hermes", "json_block", "bare_json")]
    off: list[tuple[str, str, Any]] = [("replace", at, False) for at in parsers]
    assert row[10:] in body_of(clean(), f"rubric/{TASK}")["criteria"]
    return {
        "an effect never happens": (
            "blueprint/helpdesk",
            f"{assign}/effects",
            [("replace", f"{assign}/effects/assignment/when", False)],
        ),
        "an effect writes another value": (
            "blueprint/helpdesk",
            f"{assign}/effects",
            [("replace", f"{assign}/effects/assignment/fields/status", "waiting")],
        ),
        "a rule refuses everybody": (
            "blueprint/helpdesk",
            f"{assign}/checks",
            [("replace", f"{assign}/checks/available/holds", False)],
        ),
        "a filter is gone": (
            "blueprint/helpdesk",
            f"{find}/query",
            [("replace", f"{find}/query/where/number", None)],
        ),
        "a tool is taken out": (
            "blueprint/helpdesk",
            "/tools/assign_ticket",
            [("add", "/quarantined/assign_ticket", {"reason": "unclear", "detail": "none"})],
        ),
        "a reaction is gone": (
            "reactions",
            "/assignment_books_time",
            [("remove", "/assignment_books_time", None)],
        ),
        "a seed row is another": (
            "seed/helpdesk",
            f"/tables/profile/{person}",
            [("replace", f"/tables/profile/{person}/availability", "away")],
        ),
        "an override stands in the way": (f"task/{TASK}", override, [("add", override, away)]),
        "the instruction lost a value": (f"task/{TASK}", "/instruction", vague),
        "gold gives another row": (
            f"task/{TASK}",
            "/gold/s03/arguments/~1assignee_id",
            [
                (
                    "replace",
                    "/gold/s03/arguments/~1assignee_id",
                    {"kind": "default", "value": "emp_1132bd"},
                )
            ],
        ),
        "a lookup finds another row": (
            "blueprint/helpdesk",
            f"{assign}/lookups",
            [("replace", f"{assign}/lookups/ticket/equals", "nothing")],
        ),
        "gold searches for another text": (
            f"task/{TASK}",
            "/gold/s01/arguments/~1number",
            [("replace", "/gold/s01/arguments/~1number", {"kind": "default", "value": "HD-1"})],
        ),
        "a gold step is gone": (f"task/{TASK}", "/gold/s03", [("remove", "/gold/s03", None)]),
        "no format is read": ("harness", "/parsers", off),
        "a tool is hidden": (
            "harness",
            "/hidden_tools",
            [("replace", "/hidden_tools", ["directory__get_employee"])],
        ),
        "answers are not shown": (
            "harness",
            "/observation",
            [("replace", "/observation", "{{ name }} has answered")],
        ),
        "too few turns": (
            "harness",
            "/limits/max_turns",
            [("replace", "/limits/max_turns", 4)],
        ),
        "a criterion expects another answer": (
            f"rubric/{TASK}",
            "/criteria/answer:time_code",
            [("replace", "/criteria/answer:time_code/expected", "TC-0000")],
        ),
        "a criterion is gone": (f"rubric/{TASK}", row, [("remove", row, None)]),
    }


SILENT = {"a criterion is gone"}
"""Defects that fail no rightful run."""


@pytest.mark.parametrize("name", sorted(defects()))
def test_a_defect_is_found_at_its_place_and_repaired(name: str) -> None:
    artifact, pointer, operations = defects()[name]
    system = with_defect(clean(), artifact, *operations)
    played = play_all(system, 1, NO_SLIPS)

    attributions = attribute_all(system, played)
    facts = [fact for item in attributions for fact in item.evidence]
    modes = failure_modes(attributions, [scored for _, scored in played])

    place = f"{artifact}#{pointer}"
    found = [mode for mode in modes if same_place(mode.place, place)]
    assert found, [mode.place for mode in modes]
    assert bool(found[0].rollouts) is (name not in SILENT)
    repairs = [patch for mode in found for patch in propose(system, mode, facts, 3)]
    assert repairs[0].operations[0].op == "test"
    reviews = [review_task(swap(system, patch), TASK) for patch in repairs]
    remaining = [[fact for fact in review if same_place(fact.place, place)] for review in reviews]
    assert [] in remaining


def test_a_clean_system_is_never_to_blame_and_failures_are_the_policys() -> None:
    played = play_all(small_system(8), 8)

    verdicts = [item.verdict for item in attribute_all(small_system(8), played)]

    failed = [scored.rollout_id for _, scored in played if not scored.passed]
    assert len(failed) > 10
    assert {blame.party for verdict in verdicts for blame in verdict.blamed} == {Party.POLICY}
    assert [item.rollout_id for item in verdicts if item.blamed] == failed


def test_a_review_of_a_clean_task_finds_nothing() -> None:
    assert review_task(clean(), TASK) == ()


def test_a_success_that_a_lax_threshold_let_through_is_a_false_pass() -> None:
    system = with_defect(clean(), "settings", ("replace", "/pass_threshold", 0.5))
    played = play_all(system, 12)

    verdicts = [item.verdict for item in attribute_all(system, played)]

    false = [item for item in verdicts if item.is_false_pass]
    assert false
    assert {item.blamed[0].place for item in false} == {"settings#/pass_threshold"}


def test_nobody_is_blamed_for_the_policys_endpoint() -> None:
    trajectory, scored = play_all(clean(), 1, NO_SLIPS)[0]
    broken = trajectory.model_copy(
        update={
            "stop_reason": StopReason.FAILURE,
            "failure": Failure(boundary="provider", message="timed out"),
        }
    )

    verdict = attribute_trajectory(clean(), broken, scored).verdict

    assert (verdict.decision, verdict.blamed) == (Decision.NOT_JUDGED, ())


def test_a_task_without_a_certificate_is_left_undecided() -> None:
    trajectory, scored = play_all(clean(), 1, NO_SLIPS)[0]
    reference = clean().reference.model_copy(update={"certificates": {}})
    system = clean().model_copy(update={"reference": reference})

    verdict = attribute_trajectory(system, trajectory, scored).verdict

    assert verdict.decision is Decision.UNDECIDED
    assert verdict.would_decide


def test_evidence_can_be_replayed_and_goes_away_with_its_repair() -> None:
    artifact, _pointer, operations = defects()["a filter is gone"]
    system = with_defect(clean(), artifact, *operations)
    trajectory, scored = play_all(system, 1, NO_SLIPS)[0]

    facts = attribute_trajectory(system, trajectory, scored).evidence
    spec = [fact for fact in facts if fact.kind == "spec"]

    assert spec
    assert all(still_holds(system, fact) for fact in spec)
    assert not any(still_holds(clean(), fact) for fact in spec)


def test_attribution_is_the_same_every_time() -> None:
    artifact, _pointer, operations = defects()["a reaction is gone"]
    system = with_defect(clean(), artifact, *operations)
    played = play_all(system, 2)

    forward = attribute_all(system, played)
    again = with_defect(clean(), artifact, *operations)
    backward = attribute_all(again, played[::-1])[::-1]

    assert forward == backward
