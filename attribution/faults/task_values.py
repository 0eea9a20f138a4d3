"""Kinds of fault of the task: one value that the instruction gives is wrong, unclear or lost."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

from attribution.change import Change
from attribution.faults.kinds import Clean, FaultKind
from attribution.faults.task_parts import TIME, Given, Parts, parts_of
from components.records.patch import Component

_FORMAT = "%Y-%m-%dT%H:%M:%SZ"
_FEWEST_WORDS = 3
"""Words that a text has at least; shorter ones are names."""


@cache
def words() -> dict[str, Any]:
    """Return the phrases that faults put into instructions."""
    text = Path(__file__).with_name("task_words.json").read_text("utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def _each(clean: Clean) -> Iterator[tuple[Parts, Given]]:
    for parts in parts_of(clean):
        given = parts.given()
        clean.rng.shuffle(given)
        yield from ((parts, item) for item in given)


def _replaced(parts: Parts, item: Given, new: str) -> Change:
    """Return the change that writes another text wherever the instruction has a value."""
    return parts.reworded(
        parts.everywhere(item.text, new) or [(item.start, item.end, new)],
        f"the instruction says {new!r} for {item.text!r}",
    )


def _vague(clean: Clean) -> Iterator[Change]:
    for parts, item in _each(clean):
        yield _replaced(parts, item, clean.rng.choice(words()["vague"]))


def _missing(clean: Clean) -> Iterator[Change]:
    for parts, item in _each(clean):
        if item.start:
            yield _replaced(parts, item, "")


def _other_rows(parts: Parts, item: Given) -> Iterator[str]:
    """Yield what other rows have where the row that a value names has that value."""
    for row, field in parts.named(parts.task.gold[item.step].service, item.text):
        for other in parts.alike(row):
            value = other.values.get(field)
            if isinstance(value, str) and value and value != item.text:
                yield value


def _wrong_row(clean: Clean) -> Iterator[Change]:
    for parts, item in _each(clean):
        others = sorted(set(_other_rows(parts, item)))
        if others:
            yield _replaced(parts, item, clean.rng.choice(others))


def _foreign_row(clean: Clean) -> Iterator[Change]:
    for parts, item in _each(clean):
        if not any(parts.named(parts.task.gold[item.step].service, item.text)):
            continue
        for row in parts.rows(*parts.task.world.distractors):
            title = parts.entity(row.service, row.table).title_field
            value = row.values.get(title or "")
            if isinstance(value, str) and value:
                yield _replaced(parts, item, value)
                break


def _shortened(clean: Clean) -> Iterator[Change]:
    for parts, item in _each(clean):
        others = list(_other_rows(parts, item))
        for end in range(len(item.text) - 1, 1, -1):
            start = item.text[:end].rstrip(" -_")
            if start and any(other.startswith(start) for other in others):
                yield _replaced(parts, item, start)
                break


def _transposed(clean: Clean) -> Iterator[Change]:
    for parts, item in _each(clean):
        text = item.text
        for at in range(len(text) - 2, -1, -1):
            left, right = text[at], text[at + 1]
            if left.isalnum() and right.isalnum() and left != right:
                yield _replaced(parts, item, text[:at] + right + left + text[at + 2 :])
                break


def _dash(clean: Clean) -> Iterator[Change]:
    for parts, item in _each(clean):
        if "-" in item.text and not TIME.fullmatch(item.text):
            yield _replaced(parts, item, item.text.replace("-", "\u2013"))


def _other_choice(clean: Clean) -> Iterator[Change]:
    for parts, item in _each(clean):
        choices = parts.parameter(item.step, item.pointer).get("enum") or ()
        others = [other for other in choices if isinstance(other, str) and other != item.text]
        if others:
            yield _replaced(parts, item, clean.rng.choice(others))


def _times(clean: Clean) -> Iterator[tuple[Parts, Given, datetime]]:
    for parts, item in _each(clean):
        if TIME.fullmatch(item.text):
            yield parts, item, datetime.strptime(item.text, _FORMAT)


def _wrong_day(clean: Clean) -> Iterator[Change]:
    for parts, item, moment in _times(clean):
        other = moment + timedelta(days=clean.rng.choice((-1, 1, 7)))
        yield _replaced(parts, item, other.strftime(_FORMAT))


def _local_time(clean: Clean) -> Iterator[Change]:
    for parts, item, moment in _times(clean):
        other = moment + timedelta(hours=clean.rng.choice((-8, -5, 1, 2)))
        yield _replaced(parts, item, other.strftime(_FORMAT))


def _date_form(clean: Clean) -> Iterator[Change]:
    for parts, item, moment in _times(clean):
        form = clean.rng.choice(("%d/%m/%Y %H:%M", "%B %d, %Y", "%Y-%m-%d"))
        yield _replaced(parts, item, moment.strftime(form))


def _wrong_unit(clean: Clean) -> Iterator[Change]:
    for parts, item in _each(clean):
        if re.fullmatch(r"\d+(\.\d+)?", item.text):
            number = float(item.text)
            for factor in clean.rng.sample((100, 0.01, 60, 1000), 4):
                yield _replaced(parts, item, f"{number * factor:.10g}")


def _cut_text(clean: Clean) -> Iterator[Change]:
    for parts, item in _each(clean):
        found = item.text.split()
        if len(found) >= _FEWEST_WORDS:
            yield _replaced(parts, item, " ".join(found[: len(found) // 2]))


def _swapped(clean: Clean) -> Iterator[Change]:
    for parts in parts_of(clean):
        given = parts.given()
        for left in given:
            for right in given:
                if left.end <= right.start and left.text != right.text:
                    yield parts.reworded(
                        [(left.start, left.end, right.text), (right.start, right.end, left.text)],
                        f"the instruction swaps {left.text!r} and {right.text!r}",
                    )


def _kind(name: str, statement: str, places: Any) -> FaultKind:
    return FaultKind(name=name, component=Component.TASK, statement=statement, places=places)


KINDS: tuple[FaultKind, ...] = (
    _kind("vague_value", "The instruction has vague words where a value stood.", _vague),
    _kind("missing_value", "A value is left out of the instruction.", _missing),
    _kind("wrong_row_named", "The instruction names another row than the one meant.", _wrong_row),
    _kind(
        "distractor_named",
        "The instruction names a row of a service that the task does not need.",
        _foreign_row,
    ),
    _kind(
        "shortened_name",
        "The instruction gives only the start of a name, which fits several rows.",
        _shortened,
    ),
    _kind("transposed_letters", "Two letters or digits of a value change places.", _transposed),
    _kind(
        "typographic_dash",
        "A word processor has made a dash of the hyphen in a name.",
        _dash,
    ),
    _kind(
        "wrong_choice",
        "The instruction gives another of the values that a parameter allows.",
        _other_choice,
    ),
    _kind("wrong_day", "A time in the instruction is days off.", _wrong_day),
    _kind("local_time", "A local time stands in the instruction as if it were UTC.", _local_time),
    _kind("date_form", "A time in the instruction has a form that no tool takes.", _date_form),
    _kind("wrong_unit", "A number in the instruction is given in another unit.", _wrong_unit),
    _kind("cut_text", "The text that the instruction quotes ends half way.", _cut_text),
    _kind("swapped_values", "Two values of the instruction have changed places.", _swapped),
)
