"""Rubrics compiled from gold: gold passes, mutants fail, harmless variants pass."""

from __future__ import annotations

from typing import Any

import pytest

from components.errors import SynthesisError
from components.evaluator.compile import compile_rubric
from components.evaluator.constraints import (
    Constraint,
    argument_constraints,
    unconstrained_arguments,
)
from components.evaluator.rubric import is_pass, score_criteria
from components.records.frozen import FrozenDict
from components.records.rubric import AnswerField, EvaluatorSettings, RowFields, Rubric, Untouched
from components.records.task import Task
from tests.evaluator.builders import Call, call, json_object, play, task, world

INSTRUCTION = "File 'VPN down' for Ana as high, mention the jam, close that one. Say 'Fixed by 17'."


def span(words: str) -> dict[str, Any]:
    start = INSTRUCTION.index(words)
    return {"kind": "instruction", "start": start, "end": start + len(words)}


def seen(step: str, *path: str) -> dict[str, Any]:
    return {"kind": "observation", "step": step, "path": path}


def literal(value: Any) -> dict[str, Any]:
    return {"kind": "default", "value": value}


TASK = task(
    {
        "s01": ("desk.get_ticket", {"/ticket_id": literal("tkt_1")}),
        "s02": (
            "desk.create_ticket",
            {
                "/subject": span("VPN down"),
                "/priority": span("high"),
                "/notes": {
                    "kind": "expression",
                    "operation": "format",
                    "template": "For {who}, like {what}",
                    "inputs": {"who": span("Ana"), "what": seen("s01", "subject")},
                },
            },
        ),
        "s03": (
            "desk.add_comment",
            {"/ticket_id": seen("s02", "id"), "/body": literal("As asked.")},
        ),
        "s04": (
            "desk.append_notes",
            {"/ticket_id": seen("s01", "id"), "/notes": span("Fixed by 17")},
        ),
        "s05": (
            "desk.update_ticket",
            {"/ticket_id": seen("s01", "id"), "/status": literal("closed")},
        ),
    },
    instruction=INSTRUCTION,
)
READ = call("desk.get_ticket", ticket_id="tkt_1")
CREATE = call(
    "desk.create_ticket", subject="VPN down", priority="high", notes="For Ana, like Printer jam"
)
COMMENT = call("desk.add_comment", ticket_id="#1.id", body="As asked.")
NOTE = call("desk.append_notes", ticket_id="tkt_1", notes="Fixed by 17")
CLOSE = call("desk.update_ticket", ticket_id="tkt_1", status="closed")
GOLD = [READ, CREATE, COMMENT, NOTE, CLOSE]
ANSWER = json_object({"was": "open", "count": 3})


def gold_rubric() -> Rubric:
    return compile_rubric(TASK, play(*GOLD).records, world(), ANSWER)


def passes(rubric: Rubric, calls: list[Call], answer: Any = ANSWER) -> bool | None:
    settings = EvaluatorSettings()
    scores = score_criteria(rubric, settings, world().initial, play(*calls).final, answer)
    return is_pass(scores, rubric, settings)


def test_rubric_of_gold_says_what_survives_and_nothing_generated() -> None:
    rubric = gold_rubric()

    assert rubric.criteria == {
        "answer:count": AnswerField(text="The answer's count is 3.", field="count", expected=3),
        "answer:was": AnswerField(text="The answer's was is 'open'.", field="was", expected="open"),
        "new:desk.comment:1": RowFields(
            text="There is one new desk comment with ticket_id the id of new:desk.ticket:1.",
            service="desk",
            table="comment",
            where=FrozenDict({"ticket_id": FrozenDict({"@row_of": "new:desk.ticket:1"})}),
            new_only=True,
        ),
        "new:desk.ticket:1": RowFields(
            text="There is one new desk ticket with hours 0, priority 'high', status 'open', "
            "subject 'VPN down', tags [] and a notes that holds 'Printer jam', 'Ana'.",
            service="desk",
            table="ticket",
            where=FrozenDict(
                {
                    "hours": 0,
                    "priority": "high",
                    "status": "open",
                    "subject": "VPN down",
                    "tags": (),
                }
            ),
            facts=FrozenDict({"notes": ("Printer jam", "Ana")}),
            new_only=True,
        ),
        "new:mail.message:1": RowFields(
            text="There is one new mail message with about 'tkt_1', "
            "subject 'Closed: Printer jam' and to 'desk@example.com'.",
            service="mail",
            table="message",
            where=FrozenDict(
                {"about": "tkt_1", "subject": "Closed: Printer jam", "to": "desk@example.com"}
            ),
            new_only=True,
        ),
        "row:desk.ticket:tkt_1": RowFields(
            text="The desk ticket 'tkt_1' has status 'closed' "
            "and a notes that holds 'Fixed by 17', 'Seen by Ana.'.",
            service="desk",
            table="ticket",
            where=FrozenDict({"id": "tkt_1"}),
            fields=FrozenDict({"status": "closed"}),
            facts=FrozenDict({"notes": ("Fixed by 17", "Seen by Ana.")}),
        ),
        "untouched": Untouched(
            text="Nothing else changed.",
            allowed=FrozenDict({"desk/ticket/tkt_1": ("notes", "status", "updated_at")}),
            max_new=FrozenDict({"desk/comment": 1, "desk/ticket": 1, "mail/message": 1}),
        ),
    }


@pytest.mark.parametrize(
    "calls",
    [
        GOLD,
        [READ, CREATE, READ, COMMENT, NOTE, READ, CLOSE, READ],
        [NOTE, CREATE, CLOSE, call("desk.add_comment", ticket_id="#1.id", body="Other words.")],
        [
            CLOSE,
            call(
                "desk.create_ticket",
                subject="vpn  down",
                priority="high",
                notes="Printer jam, says ana.",
            ),
            COMMENT,
            call("desk.append_notes", ticket_id="tkt_1", notes="fixed by 17!"),
        ],
        [*GOLD[:4], call("desk.update_ticket", ticket_id="tkt_1", status="pending"), CLOSE],
    ],
    ids=["gold", "extra reads", "other order", "other words", "detour"],
)
def test_harmless_variant_passes(calls: list[Call]) -> None:
    assert passes(gold_rubric(), calls) is True


MUTANTS = {
    "nothing": [],
    "without the ticket": [READ, NOTE, CLOSE],
    "without the comment": [READ, CREATE, NOTE, CLOSE],
    "without the note": [READ, CREATE, COMMENT, CLOSE],
    "without closing": [READ, CREATE, COMMENT, NOTE],
    "changed value": [
        READ,
        call("desk.create_ticket", subject="VPN down", priority="low", notes="Ana: Printer jam"),
        *GOLD[2:],
    ],
    "lost fact": [
        READ,
        call("desk.create_ticket", subject="VPN down", priority="high", notes="For Ana"),
        *GOLD[2:],
    ],
    "altered fact": [
        *GOLD[:3],
        call("desk.append_notes", ticket_id="tkt_1", notes="Fixed by 172"),
        CLOSE,
    ],
    "extra row": [*GOLD, CREATE],
    "extra comment": [*GOLD, call("desk.add_comment", ticket_id="tkt_2", body="x")],
    "comment on another ticket": [
        READ,
        CREATE,
        call("desk.add_comment", ticket_id="tkt_1", body="As asked."),
        NOTE,
        CLOSE,
    ],
    "another ticket closed": [
        *GOLD[:4],
        call("desk.update_ticket", ticket_id="tkt_2", status="closed"),
    ],
    "collateral field": [*GOLD, call("desk.set_tags", ticket_id="tkt_1", tags=["x"])],
    "collateral row": [*GOLD, call("desk.set_tags", ticket_id="tkt_3", tags=["x"])],
    "collateral mail": [*GOLD, call("mail.send", to="a", subject="b", body="c")],
    "undone": [*GOLD, call("desk.update_ticket", ticket_id="tkt_1", status="open")],
    "closed twice": [
        *GOLD,
        call("desk.update_ticket", ticket_id="tkt_1", status="open"),
        CLOSE,
    ],
}


@pytest.mark.parametrize("calls", MUTANTS.values(), ids=MUTANTS)
def test_mutant_fails(calls: list[Call]) -> None:
    assert passes(gold_rubric(), calls) is False


@pytest.mark.parametrize("answer", [None, {"was": "open"}, {"was": "closed", "count": 3}])
def test_right_state_with_another_answer_fails(answer: Any) -> None:
    assert passes(gold_rubric(), GOLD, answer) is False


def free(calls: list[Call]) -> Task:
    """A task whose gold makes these calls with arguments from nowhere in particular."""
    return task(
        {
            f"s{number:02}": (
                item.tool,
                {f"/{name}": literal(value) for name, value in item.arguments.items()},
            )
            for number, item in enumerate(calls)
        }
    )


def compiled(*calls: Call, answer: Any = None) -> Rubric:
    given = json_object(answer or {})
    return compile_rubric(free(list(calls)), play(*calls).records, world(), given)


def test_only_effects_that_survive_become_criteria() -> None:
    create = call("desk.create_ticket", subject="x", priority="low")
    rubric = compiled(
        create,
        call("desk.delete_ticket", ticket_id="#0.id"),
        call("desk.update_ticket", ticket_id="tkt_1", priority="high"),
        call("desk.update_ticket", ticket_id="tkt_1", priority="low"),
        call("desk.update_ticket", ticket_id="tkt_2", priority="high"),
        call("desk.update_ticket", ticket_id="tkt_2", priority="normal"),
    )

    assert sorted(rubric.criteria) == ["row:desk.ticket:tkt_1", "untouched"]
    row, untouched = rubric.criteria["row:desk.ticket:tkt_1"], rubric.criteria["untouched"]
    assert isinstance(row, RowFields)
    assert row.fields == {"priority": "low"}
    # The time of a change that was undone stays behind: it may differ, and is not compared.
    assert isinstance(untouched, Untouched)
    assert untouched.allowed == {
        "desk/ticket/tkt_1": ("priority", "updated_at"),
        "desk/ticket/tkt_2": ("updated_at",),
    }


def test_deleted_row_must_be_gone() -> None:
    delete = call("desk.delete_ticket", ticket_id="tkt_3")
    rubric = compiled(delete)

    assert sorted(rubric.criteria) == ["gone:desk.ticket:tkt_3", "untouched"]
    assert passes(rubric, [delete], None) is True
    assert passes(rubric, [call("desk.delete_ticket", ticket_id="tkt_2")], None) is False


def test_rows_of_one_content_are_counted_together_and_names_do_not_depend_on_order() -> None:
    one = call("desk.create_ticket", subject="b", priority="low")
    same = call("desk.create_ticket", subject="B", priority="low")
    other = call("desk.create_ticket", subject="a", priority="low")

    rubric = compiled(one, other, same)

    assert rubric == compiled(other, same, one)
    first, second = rubric.criteria["new:desk.ticket:1"], rubric.criteria["new:desk.ticket:2"]
    assert isinstance(first, RowFields)
    assert isinstance(second, RowFields)
    assert (first.where["subject"], first.count) == ("a", 1)
    assert (second.where["subject"].lower(), second.count) == ("b", 2)
    assert passes(rubric, [one, other, same], None) is True
    assert passes(rubric, [one, other], None) is False


def test_answer_that_is_a_generated_id_is_bound_by_content() -> None:
    create = call("desk.create_ticket", subject="x", priority="low", notes="one")
    reworded = call("desk.create_ticket", subject="x", priority="low", notes="two")
    ids = [play(item).records[0].envelope["data"]["id"] for item in (create, reworded)]
    rubric = compiled(create, answer={"id": ids[0]})

    assert ids[0] != ids[1]
    assert passes(rubric, [reworded], json_object({"id": ids[1]})) is True
    assert passes(rubric, [reworded], json_object({"id": "tkt_1"})) is False


def test_answer_with_a_generated_id_inside_is_refused() -> None:
    create = call("desk.create_ticket", subject="x", priority="low")
    made = play(create).records[0].envelope["data"]["id"]

    with pytest.raises(SynthesisError, match="generated id inside"):
        compiled(create, answer={"url": f"https://desk/{made}"})


def test_generated_id_in_free_text_is_no_fact() -> None:
    create = call("desk.create_ticket", subject="x", priority="low")
    note = call("desk.append_notes", ticket_id="tkt_2", notes="#0.id")
    played = play(create, note)
    here = task(
        {
            "s01": ("desk.create_ticket", {"/subject": literal("x")}),
            "s02": ("desk.append_notes", {"/notes": seen("s01", "id")}),
        }
    )

    rubric = compile_rubric(here, played.records, world(), FrozenDict())

    assert "row:desk.ticket:tkt_2" not in rubric.criteria


def test_constraints_name_every_gold_argument_and_why_some_are_free() -> None:
    played = play(*GOLD)

    found = {
        f"{item.step}{item.pointer}": (item.constraint, item.facts or item.reason)
        for item in argument_constraints(TASK, played.records, world(), gold_rubric())
    }

    assert found == {
        "s01/ticket_id": (Constraint.NONE, "the call changes nothing"),
        "s02/notes": (Constraint.FACTS, ("Printer jam", "Ana")),
        "s02/priority": (Constraint.VALUE, ""),
        "s02/subject": (Constraint.VALUE, ""),
        "s03/body": (Constraint.NONE, "free text without a fact"),
        "s03/ticket_id": (Constraint.VALUE, ""),
        "s04/notes": (Constraint.FACTS, ("Fixed by 17",)),
        "s04/ticket_id": (Constraint.VALUE, ""),
        "s05/status": (Constraint.VALUE, ""),
        "s05/ticket_id": (Constraint.VALUE, ""),
    }


def test_unconstrained_arguments_are_listed_with_the_reason() -> None:
    calls = [
        call("desk.update_ticket", ticket_id="tkt_1", priority="high"),
        call("desk.update_ticket", ticket_id="tkt_1", priority="low"),
        call("desk.append_notes", ticket_id="tkt_2", notes="words"),
        call("desk.update_ticket", ticket_id="tkt_3", status="pending"),
        call("desk.delete_ticket", ticket_id="tkt_3"),
    ]
    records = play(*calls).records
    here = free(calls)
    rubric = compile_rubric(here, records, world(), FrozenDict())

    assert unconstrained_arguments(here, records, world(), rubric) == (
        "s00/priority: it is overwritten later",
        "s02/notes: free text without a fact",
        "s03/status: its effect does not survive",
    )
