"""Kinds of fault of the evaluator: a criterion wants another value than the right one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from attribution.change import Change
from attribution.evidence import pointer_of
from attribution.faults.kinds import Clean
from attribution.faults.rubric_parts import Judged, Wanted, judged, kind, wanted
from attribution.faults.task_parts import TIME, sibling_paths
from components.task.provenance import leaves


def _slip(clean: Clean) -> Iterator[Change]:
    for item, value in wanted(clean):
        text = value.value
        if isinstance(text, str) and text and not TIME.fullmatch(text):
            last = "a" if text[-1] != "a" else "b"
            wrong = text[:-1] + (str((int(text[-1]) + 1) % 10) if text[-1].isdigit() else last)
            yield _wants(item, value, wrong)


def _wants(item: Judged, value: Wanted, wrong: Any) -> Change:
    return item.set(value.name, value.at, wrong, f"wants {wrong!r}, not {value.value!r}")


def _off_by_one(clean: Clean) -> Iterator[Change]:
    for item, value in wanted(clean):
        if isinstance(value.value, (int, float)) and not isinstance(value.value, bool):
            yield _wants(item, value, value.value + clean.rng.choice((-1, 1)))


def _number_as_text(clean: Clean) -> Iterator[Change]:
    for item, value in wanted(clean):
        if isinstance(value.value, (int, float)) and not isinstance(value.value, bool):
            yield _wants(item, value, str(value.value))


def _date_form(clean: Clean) -> Iterator[Change]:
    for item, value in wanted(clean):
        if isinstance(value.value, str) and TIME.fullmatch(value.value):
            text = value.value
            forms = (text[:10], text.replace("T", " ")[:-1], text.replace("Z", "+00:00"))
            yield _wants(item, value, clean.rng.choice(forms))


def _null(clean: Clean) -> Iterator[Change]:
    for item, value in wanted(clean):
        if value.value is not None:
            yield _wants(item, value, None)


def _list(clean: Clean) -> Iterator[Change]:
    for item, value in wanted(clean):
        if value.value is not None:
            yield _wants(item, value, [value.value])


def _old_value(clean: Clean) -> Iterator[Change]:
    for item in judged(clean):
        for name, criterion in item.rows():
            row = item.seed_row(criterion)
            for field, value in sorted(criterion.fields.items()):
                if row is not None and row.values.get(field) != value:
                    yield item.set(
                        name, ("fields", field), row.values.get(field), f"wants the old {field}"
                    )


def _first_reading(clean: Clean) -> Iterator[Change]:
    for item in judged(clean):
        by_field = {criterion.field: name for name, criterion in item.answers()}
        for used in item.parts.used():
            earlier = item.parts.task.gold[used.source.step].revisit_of
            if used.step != "answer" or earlier is None or used.at[-1] not in by_field:
                continue
            for path, value in leaves(item.parts.calls[earlier].envelope.get("data")):
                if path[-1:] == used.source.path[-1:] and value != used.value:
                    yield item.set(
                        by_field[used.at[-1]], ("expected",), value, "wants the first reading"
                    )
                    break


def _beside(clean: Clean) -> Iterator[Change]:
    for item in judged(clean):
        by_field = {criterion.field: name for name, criterion in item.answers()}
        for used in item.parts.used():
            if used.step == "answer" and used.at[-1] in by_field:
                for path, value in sibling_paths(used)[:2]:
                    yield item.set(
                        by_field[used.at[-1]],
                        ("expected",),
                        value,
                        f"wants the {path[-1]}, which stands beside it",
                    )


def _other_task(clean: Clean) -> Iterator[Change]:
    rubrics = list(judged(clean))
    values: dict[str, list[Any]] = {}
    for item in rubrics:
        for value in item.wanted():
            values.setdefault(value.field, []).append(value.value)
    for item, value in wanted(clean):
        others = [other for other in values.get(value.field, []) if other != value.value]
        if others:
            yield _wants(item, value, clean.rng.choice(others))


def _swapped(clean: Clean) -> Iterator[Change]:
    for item in judged(clean):
        values = [value for value in item.wanted() if isinstance(value.value, str)]
        for left in values:
            for right in values:
                is_pair = left.name < right.name and left.at == right.at == ("expected",)
                is_pair |= left.name == right.name and left.at < right.at
                if is_pair and left.value != right.value:
                    first = item.set(left.name, left.at, right.value, "wants what another wants")
                    second = item.set(right.name, right.at, left.value, "")
                    yield item.change(
                        [*first.operations, *second.operations],
                        ("criteria", left.name, *left.at),
                        f"{left.field} and {right.field} are wanted the other way round",
                    )


def _extra_fact(clean: Clean) -> Iterator[Change]:
    for item in judged(clean):
        for name, criterion in item.row_criteria():
            for field, facts in sorted(criterion.facts.items()):
                for word in clean.rng.sample(("regards", "as discussed", "please note"), 3):
                    yield item.set(
                        name, ("facts", field), [*facts, word], f"wants {word!r} in the {field}"
                    )


def _exact_prose(clean: Clean) -> Iterator[Change]:
    for item in judged(clean):
        for name, criterion in item.row_criteria():
            for field in sorted(criterion.facts):
                for text in item.final(criterion.service, criterion.table, field)[:1]:
                    place = ("criteria", name, "fields", field)
                    wording = clean.rng.choice((f"{text} Thank you.", f"Hello, {text}"))
                    yield item.change(
                        [("add", pointer_of(*place), wording)],
                        place,
                        f"{name} wants the {field} to be {wording!r}",
                    )


def _sentence(clean: Clean) -> Iterator[Change]:
    for item in judged(clean):
        for name, criterion in item.answers():
            if isinstance(criterion.expected, str):
                wrong = f"{criterion.field.replace('_', ' ')}: {criterion.expected}"
                yield item.set(name, ("expected",), wrong, "wants a sentence, not a value")


KINDS = (
    kind("wrong_letter", "A criterion wants a value with one wrong letter or digit.", _slip),
    kind("off_by_one", "A criterion wants a number that is one off.", _off_by_one),
    kind(
        "number_as_text", "A criterion wants the digits as text, not the number.", _number_as_text
    ),
    kind("date_form", "A criterion wants a time in a form that no tool writes.", _date_form),
    kind("wants_null", "A criterion wants nothing where a value belongs.", _null),
    kind("wants_list", "A criterion wants a list of the value, not the value.", _list),
    kind("wants_old_value", "A criterion wants what the row had before.", _old_value),
    kind("wants_first_reading", "The answer is held against the first reading.", _first_reading),
    kind(
        "wants_neighbour", "The answer is held against the field beside the one asked for.", _beside
    ),
    kind("wants_other_task", "A criterion wants the value of another task.", _other_task),
    kind("swapped_wants", "Two criteria or fields want each other's value.", _swapped),
    kind("extra_fact", "A criterion wants words in a text that nobody asked for.", _extra_fact),
    kind(
        "exact_prose",
        "A criterion wants free text word for word as its author would write it.",
        _exact_prose,
    ),
    kind("wants_sentence", "The answer is held against a sentence around the value.", _sentence),
)
