"""Times in words: whether the instruction says another one, or gold reads the right one wrongly."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Any

import pytest

from attribution.interventions.runs import arm_of, replay, texts_of
from attribution.patchers.task import respelled_steps
from attribution.swap import body_of
from components.evaluator.rubric import score_group
from components.records.system import System
from components.records.task import FromInstruction
from components.records.trajectory import Trajectory
from components.task.moments import date_words, moments_said
from tests.attribution.composed import SETTINGS, composed_system
from tests.attribution.playing import NO_SLIPS, attribute_all, only, play_all, with_defect
from tests.attribution.test_gaps import mend

NOW = "2026-03-02T23:10:05Z"
LONG = SETTINGS.model_copy(update={"k": 3, "walk_length": 5, "distractors": 0})


@cache
def dated() -> System:
    return composed_system(3, 22, LONG)


def time_given(cast: str) -> tuple[str, tuple[str, ...], FromInstruction]:
    """Return a task, the place of a time that gold takes from its instruction, and its span."""
    return next(
        (name, ("gold", step, "arguments", pointer), source)
        for name, task in sorted(dated().tasks.items())
        for step, body in sorted(task.gold.items())
        for pointer, source in sorted(body.arguments.items())
        if isinstance(source, FromInstruction) and source.cast == cast
    )


def pointer_of(keys: tuple[str, ...]) -> str:
    return "".join("/" + key.replace("~", "~0").replace("/", "~1") for key in keys)


def blamed_and_mended(system: System) -> tuple[set[str], System]:
    played = play_all(system, 1, NO_SLIPS)
    attributions = attribute_all(system, played)
    assert not any(scored.passed for _, scored in played)
    mended, _decided = mend(system, played, attributions)
    return {item.verdict.blamed[0].place for item in attributions}, mended


def test_a_text_says_its_times_in_order() -> None:
    text = "At 9:00 tomorrow, or 118:00 tomorrow, or 8:30 on 24 March 2026; 7:00 on 40 March 2026."

    said = list(moments_said(text, NOW))

    assert [(text[item.start : item.end], item.moment, item.is_relative) for item in said] == [
        ("9:00 tomorrow", "2026-03-03T09:00:00Z", True),
        ("8:30 on 24 March 2026", "2026-03-24T08:30:00Z", False),
    ]


@pytest.mark.parametrize("cast", ["date", "moment"])
@pytest.mark.parametrize("shift", [-1, 1])
def test_gold_is_blamed_that_reads_a_time_one_character_off(cast: str, shift: int) -> None:
    name, place, source = time_given(cast)
    at = pointer_of(place)
    system = with_defect(
        only(dated(), name),
        f"task/{name}",
        ("replace", f"{at}/start", source.start + shift),
        ("replace", f"{at}/end", source.end + shift),
    )

    places, mended = blamed_and_mended(system)

    assert places == {f"task/{name}#{at}"}
    assert not mended.retired
    assert mended.tasks[name] == dated().tasks[name]


@pytest.mark.parametrize("cast", ["date", "moment"])
def test_an_instruction_is_blamed_that_no_longer_says_the_time(cast: str) -> None:
    name, _place, source = time_given(cast)
    words = date_words("2031-01-05T06:00:00Z") if cast == "date" else "the one from last time"
    steps: list[Any] = respelled_steps(
        body_of(dated(), f"task/{name}"), [(source.start, source.end, words)]
    )
    system = with_defect(only(dated(), name), f"task/{name}", *steps)

    places, mended = blamed_and_mended(system)

    assert places == {f"task/{name}#/instruction"}
    assert not mended.retired
    said = [item.moment for item in moments_said(mended.tasks[name].instruction, NOW)]
    assert said == [item.moment for item in moments_said(dated().tasks[name].instruction, NOW)]


def test_a_script_that_leaves_out_a_look_still_copies_what_gold_does_wrongly() -> None:
    name, _place, _source = time_given("moment")
    place, source = last_span(name)
    at = pointer_of(place)
    system = with_defect(
        only(dated(), name),
        f"task/{name}",
        ("replace", f"{at}/start", source.start - 1),
        ("replace", f"{at}/end", source.end - 1),
    )
    [(whole, _scored)] = play_all(system, 1, NO_SLIPS)
    texts = list(texts_of(whole))
    del texts[look_before_a_write(whole)]
    run = replay(arm_of(system, name), texts)
    played = [(run.trajectory, score_group(system, system.tasks[name], [run.trajectory])[0])]

    [attribution] = attribute_all(system, played)

    assert [item.place for item in attribution.verdict.blamed] == [f"task/{name}#{at}"]


def last_span(name: str) -> tuple[tuple[str, ...], FromInstruction]:
    """Return the place of the last value that gold takes from the instruction, and its span."""
    return [
        (("gold", step, "arguments", pointer), source)
        for step, body in sorted(dated().tasks[name].gold.items())
        for pointer, source in sorted(body.arguments.items())
        if isinstance(source, FromInstruction)
    ][-1]


def look_before_a_write(trajectory: Trajectory) -> int:
    """Return the first turn that looks at something, before one that changes something or tries."""
    looks = [
        all(
            item.call is not None and item.call.envelope["ok"] and not item.call.changes
            for item in turn.observations
        )
        for turn in trajectory.turns
    ]
    pairs = enumerate(pairwise(looks))
    return next(index for index, pair in pairs if pair == (True, False))
