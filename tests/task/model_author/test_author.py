"""A model's drafts: right ones are certified, and each wrong one is refused for what it is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from components.model.config import ModelBudget
from components.model.endpoint import Door, open_door
from components.model.recording import Recording
from components.records.base import to_json
from components.records.frozen import FrozenDict
from components.records.system import Evaluator
from components.records.task import (
    FromExpression,
    FromInstruction,
    FromObservation,
    FromRows,
    Pick,
    RejectedDraft,
)
from components.task.certify import recertify
from components.task.compose import ComposedTask
from components.task.model_author.author import ModelTaskAuthor
from components.task.model_author.records import Stage
from components.task.reasons import Reason
from tests.model.served import serve
from tests.task.builders import Settings, builtin_system
from tests.task.model_author import cases
from tests.task.model_author.scripted import Author, author_config
from tests.task.model_author.wrong import NO, WRONG, Wrong

SETTINGS = Settings(k=2, walk_length=4, domains=("directory", "helpdesk"))


def authored(
    author: Author,
    seed: int = 0,
    recording: Recording | None = None,
    door: Door | None = None,
    **config: Any,
) -> tuple[ComposedTask | RejectedDraft, ModelTaskAuthor]:
    """Author one draft, through the seam that HTTP requests go through."""
    made = ModelTaskAuthor(
        builtin_system(), SETTINGS, author_config(**config), recording or Recording(None),
        door or author.door, sleep=lambda _seconds: None,
    )  # fmt: skip
    return made.compose(seed), made


def authored_over_http(
    author: Author, **config: Any
) -> tuple[ComposedTask | RejectedDraft, ModelTaskAuthor]:
    with serve(author) as served:
        door = open_door(author_config(served.base_url, **config))
        return authored(author, door=door, **config)


def certified(author: Author, **config: Any) -> ComposedTask:
    made, _ = authored(author, **{"revisions": 0, **config})
    assert isinstance(made, ComposedTask), made
    return made


def test_a_right_draft_is_certified_like_every_task() -> None:
    author = Author()

    made = certified(author)

    task = made.task
    assert author.stages == ["explore", "explore", "explore", "design", *["probe"] * 4]
    assert task.author == "model"
    assert [step.tool for _name, step in sorted(task.gold.items())] == [
        "get_ticket_by_number", "set_leave", "get_ticket", "get_employee",
    ]  # fmt: skip
    assert task.gold["s03"].revisit_of == "s01"
    until = task.gold["s02"].arguments["/until"]
    assert isinstance(until, FromInstruction)
    assert task.instruction[until.start : until.end].startswith("2026-03-")
    kinds = {probe.kind for probe in made.certificate.probes.values()}
    assert {"gold", "null", "omit_write", "change_value", "wrong_record", "stale_value"} <= kinds
    assert {"collateral", "wrong_answer", "more_reads", "random"} <= kinds
    system = builtin_system()
    name = task.task_id
    held = system.model_copy(
        update={
            "tasks": FrozenDict({name: task}),
            "evaluator": Evaluator(rubrics=FrozenDict({name: made.rubric})),
            "reference": system.reference.model_copy(
                update={"certificates": FrozenDict({name: made.certificate})}
            ),
        }
    )
    assert recertify(held, name) == made.certificate


def test_who_solves_is_told_the_request_and_nothing_of_the_design() -> None:
    author = Author()

    certified(author)

    for stage, prompt in zip(author.stages, author.prompts, strict=True):
        assert prompt.startswith("Draft 0.")  # drafts never share a recorded answer
        assert ("A chain of calls" in prompt) is (stage != "probe")
        assert stage != "probe" or "tickets and leave" not in prompt


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_draft_is_refused_for_what_is_wrong(name: str) -> None:
    wrong: Wrong = WRONG[name]

    config = {"revisions": 0, **wrong.config}
    made, _ = (authored_over_http if wrong.over_http else authored)(wrong.author, **config)

    assert isinstance(made, RejectedDraft)
    assert (made.stage, made.reason) == (wrong.stage.value, wrong.reason.value), made.detail
    assert wrong.says in made.detail


def test_a_refused_draft_is_designed_again_and_told_why() -> None:
    author = Author(design=WRONG["internal_id"].author.design)

    made = certified(author, revisions=1)

    told = author.prompts[author.stages.index("revise")]
    assert "It was refused: submit: reveals_id: tkt_" in told
    assert "It was solved like this:" in told
    assert "tkt_" not in made.task.instruction


def test_reads_that_nothing_needs_are_no_part_of_gold() -> None:
    made = certified(Author(probe=cases.looks_round))

    assert len(made.task.gold) == 4


def test_a_text_in_ones_own_words_is_held_to_the_values_that_it_must_hold() -> None:
    made = certified(Author(design=cases.comment_design, probe=cases.comments))

    body = made.task.gold["s05"].arguments["/body"]
    assert isinstance(body, FromExpression)
    assert body.template == "Please call {f1} from now on."
    probes = {(probe.kind, probe.should_pass) for probe in made.certificate.probes.values()}
    assert {("change_fact", False), ("free_text", True)} <= probes
    assert not made.task.answer


def test_calls_of_one_service_in_a_row_are_one_step_of_the_walk() -> None:
    made = certified(Author(design=cases.searching_design, probe=cases.searches))

    tools = [step.tool for _name, step in sorted(made.task.gold.items())]
    assert tools[:2] == ["search_tickets", "get_ticket"]
    assert made.task.referents["r01"].rows_path == ("tickets",)


def test_a_number_over_a_list_is_computed_by_the_rule_that_is_said() -> None:
    made = certified(
        Author(explore=cases.looks_at_duties, design=cases.counting_design, probe=cases.counts),
        seed=1,
        explore_calls=8,
    )

    assert isinstance(made.task.answer["duties"], FromRows)


PICKING = Author(
    explore=cases.looks_at_tickets, design=cases.picking_design, probe=cases.picks
)  # fmt: skip


def test_a_row_of_a_longer_list_is_the_one_that_the_request_says() -> None:
    made = certified(PICKING, explore_calls=8)

    source = made.task.answer["subject"]
    assert isinstance(source, FromObservation)
    assert source.pick == Pick(by="created_at", most=True)
    assert "wrong_pick" in {probe.kind for probe in made.certificate.probes.values()}


def test_a_row_of_a_longer_list_needs_words_that_say_which() -> None:
    def vague(prompt: str) -> dict[str, Any]:
        design = cases.picking_design(prompt)
        return {**design, "picks": [{**design["picks"][0], "words": "ticket that is in_progress"}]}

    made, _ = authored(replace(PICKING, design=vague), revisions=0, explore_calls=8)

    assert isinstance(made, RejectedDraft)
    assert made.reason == Reason.AMBIGUOUS_REFERENT.value


def test_the_start_of_a_world_is_changed_where_every_promise_is_kept() -> None:
    author = Author(design=cases.changed_start, probe=cases.solves_changed)

    made = certified(author)

    assert list(made.task.world.overrides) == ["helpdesk/ticket/tkt_50e748"]


def test_a_budget_is_never_passed() -> None:
    made, author = authored(
        Author(prompt_tokens=10_000), budget=ModelBudget(tokens=45_000, usd=0.0)
    )

    assert isinstance(made, RejectedDraft)
    assert made.reason == Reason.BUDGET.value
    used = sum(item.prompt_tokens + item.answer_tokens for item in author.stages.values())
    assert 0 < used <= 45_000


def test_a_recording_replays_with_no_endpoint(tmp_path: Path) -> None:
    path = tmp_path / "author.jsonl"
    live = [
        authored(author, seed, Recording(path))[0]
        for seed, author in ((0, Author()), (1, Author(design=NO)), (2, Author(probe=NO)))
    ]

    again = ModelTaskAuthor(
        builtin_system(), SETTINGS, author_config(), Recording(path, is_replay=True)
    )
    replayed = [again.compose(seed) for seed in range(3)]

    assert replayed == live
    assert isinstance(live[0], ComposedTask)
    assert isinstance(live[1], ComposedTask)  # designed again
    assert isinstance(live[2], RejectedDraft)
    assert to_json(live[2])["stage"] == Stage.PROBE.value
