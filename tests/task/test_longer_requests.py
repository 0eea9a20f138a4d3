"""Longer requests: what is asked for together, what is told of changes, who speaks, pronouns."""

from __future__ import annotations

import random
import re
from functools import cache

import pytest

from components.environment.catalog_loader import builtin_services
from components.errors import SynthesisError
from components.records.task import FromObservation
from components.records.world import WorldSpec
from components.task.author import author_task
from components.task.compose import WORLD_NOW, ComposedTask, compose_task, services_for_tasks
from components.task.drawing import drawn_walk
from components.task.graph import Place
from components.task.ground import Ground, ground_of
from components.task.longer import longer, tool_name
from components.task.naturalness import limit_of, marks_of, weight_of
from components.task.pronouns import mine, owned
from components.task.purposes import purposes
from components.task.spans import Mark, Pieces, flatten
from components.task.speaking import cause_of
from components.task.steps import Walk
from tests.task.builders import Settings, system_of

SEEDS = 14


@cache
def ground() -> Ground:
    system = system_of(builtin_services())
    services = services_for_tasks(system, ())
    return ground_of(system, WorldSpec(services=services, distractors=(), now=WORLD_NOW))


@cache
def walks() -> tuple[tuple[str, Walk], ...]:
    found = []
    for purpose in dict.fromkeys(purposes().names(3)):
        for seed in range(3):
            walk = drawn_walk(ground(), 3, 6, random.Random(f"{purpose}{seed}"), purpose)
            if walk is not None:
                found.append((purpose, walk))
    assert len(found) > 15
    return tuple(found)


@cache
def tasks() -> tuple[ComposedTask, ...]:
    system = system_of(builtin_services())
    made = (
        compose_task(system, Settings(k=3, walk_length=6, distractors=1), seed)
        for seed in range(100, 100 + SEEDS)
    )
    return tuple(item for item in made if isinstance(item, ComposedTask))


def test_all_writes_of_a_walk_serve_its_purpose_and_none_undoes_another() -> None:
    for purpose, walk in walks():
        writes = [step.shape for step in walk.steps if step.shape.is_write]
        tools = [tool_name(shape) for shape in writes]

        assert all(purposes().serves(shape, purpose) for shape in writes), (purpose, tools)
        assert not list(purposes().pairs_apart(tools))
        assert len(set(tools)) == len(tools)


def test_tools_that_undo_each_other_are_apart_in_either_order_and_others_are_not() -> None:
    apart = list(purposes().pairs_apart(["helpdesk.set_priority", "helpdesk.resolve_ticket"]))

    assert apart == [("helpdesk.resolve_ticket", "helpdesk.set_priority")]
    assert not list(purposes().pairs_apart(["helpdesk.set_priority", "helpdesk.add_comment"]))


def test_a_value_is_a_reason_only_for_what_it_bears_on() -> None:
    status = Place("incidents", "incident", "status")
    graph = ground().graph
    brief = graph.tools["travel", "brief_traveller"]

    assert purposes().bears(status, "open", brief)
    assert not purposes().bears(status, "closed", brief)
    assert not purposes().bears(Place("crm", "account", "status"), "active", brief)


def test_every_tool_that_the_data_names_is_one_of_the_catalog() -> None:
    known = {f"{service}.{name}" for service, name in ground().graph.tools}
    text = str(purposes()._all) + str(purposes()._common) + str(longer()._data["sentences"])
    services = "|".join(builtin_services())
    named = set(re.findall(rf"'((?:{services})\.[a-z_]+)'", text))

    assert named
    assert named <= known


def test_every_field_that_the_data_names_is_one_of_the_catalog() -> None:
    services = "|".join(builtin_services())
    text = str(purposes()._all) + str(purposes()._common)
    named = set(re.findall(rf"'((?:{services})\.[a-z_]+\.[a-z_]+)'", text))

    assert len(named) > 50
    for name in named:
        service, table, field = name.split(".")
        assert field in ground().graph.blueprints[service].entities[table].fields, name


def test_a_purpose_turns_on_its_own_writes_and_goes_with_others_among_many_services() -> None:
    for name in dict.fromkeys(purposes().names(3)):
        own, wide = purposes()._all[name], purposes()._all.get(name + "+")
        assert set(own["turns"]) <= set(own["tools"]), name
        assert (wide is None) is ("with" not in own), name
        if wide is not None:
            assert set(own["tools"]) < set(wide["tools"]), name
            assert wide["turns"] == own["turns"], name


def test_what_has_changed_is_called_new_or_asked_for_as_it_is_now_and_never_foretold() -> None:
    new = 0
    for item in tasks():
        text = item.task.instruction
        assert not re.search(
            r"\b(?:gets|get|gives|give) [^.;]*\ba new \w+ (?:code|key|time)\b", text
        )
        new += bool(re.search(r" new | now\b|who the ", text))
    assert new > len(tasks()) / 2


def test_what_a_reaction_made_has_a_cause_before_the_reading() -> None:
    for _purpose, walk in walks():
        cause = cause_of(walk, walk.again)
        assert cause is not None
        assert cause.name < walk.again.step
        assert cause_of(walk, walk.first) is None


def test_requests_with_somebody_acting_begin_with_who_speaks_and_still_need_the_reading() -> None:
    speaking = [item for item in tasks() if item.task.instruction.startswith("I am ")]
    assert speaking
    for item in speaking:
        assert " me" in item.task.instruction or " my " in item.task.instruction
        assert " of me" not in item.task.instruction
        sources = [s for step in item.task.gold.values() for s in step.arguments.values()]
        assert any(isinstance(source, FromObservation) for source in sources)


def test_admitted_requests_have_no_more_marks_than_are_allowed() -> None:
    refused = 0
    for _purpose, walk in walks():
        spec = WorldSpec(services=walk.services, distractors=(), now=WORLD_NOW)
        try:
            text = author_task(ground(), walk, spec, 0, random.Random(0)).instruction
        except SynthesisError:
            continue
        chained = f"{text} Cancel the trip of the deputy of the owner of the channel of EV-2034."
        before, after = (weight_of(marks_of(ground(), walk, one)) for one in (text, chained))
        assert after >= before + 3
        refused += before >= limit_of(walk)
    assert refused < len(walks()) / 2


@pytest.mark.parametrize(
    ("words", "owners", "wanted"),
    [
        ("the channel of EV-2034", ("EV-2034",), "its channel"),
        (
            "the freight code of the invoice for SH-52",
            ("SH-52",),
            "the freight code of its invoice",
        ),
        ("the channel of EV-20345", ("EV-2034",), "the channel of EV-20345"),
        ("the document on the agenda of EV-1", ("EV-1",), "the document on its agenda"),
        ("the channel of EV-1", (), "the channel of EV-1"),
    ],
)
def test_a_pronoun_stands_for_the_owner_alone(
    words: str, owners: tuple[str, ...], wanted: str
) -> None:
    assert flatten(owned([words], owners, "its"))[0] == wanted


def test_my_stands_for_of_me_and_marks_keep_their_words() -> None:
    pieces: Pieces = [
        "Cancel ",
        Mark(("referent", "s1"), ["the trip of ", "me"]),
        " in the channel for me.",
    ]

    text, spans = flatten(mine(pieces))

    assert text == "Cancel my trip in the channel for me."
    assert text[spans["referent", "s1"].start : spans["referent", "s1"].end] == "my trip"


def test_short_walks_and_their_requests_stay_byte_for_byte_what_they_were() -> None:
    """A policy that comes with the program was trained on them."""
    system = system_of(builtin_services())
    made = [
        compose_task(system, Settings(k=2, walk_length=length, distractors=1), seed)
        for seed, length in enumerate((3, 3, 3, 4, 4, 4))
    ]

    names = [item.task.task_id for item in made if isinstance(item, ComposedTask)]
    assert names == [
        "t_d7b54f88d6",
        "t_1832a204da",
        "t_f432dc7c3d",
        "t_f0bf8e0373",
        "t_f30a8918db",
        "t_996ef72563",
    ]
