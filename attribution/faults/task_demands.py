"""Kinds of fault of the task: what the instruction demands is not what the task was certified for.

Where words ask for something else, gold does what the words ask: it stands for whoever reads them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from attribution.change import Change
from attribution.evidence import pointer_of
from attribution.faults.kinds import Clean, FaultKind
from attribution.faults.task_parts import (
    INSTRUCTION,
    Given,
    Parts,
    parts_of,
    sentences,
    sibling_paths,
)
from attribution.faults.task_values import words
from components.records.patch import Component
from components.records.task import FromExpression
from components.task.provenance import observations_of


def _truncated(clean: Clean) -> Iterator[Change]:
    for parts in parts_of(clean):
        given = sorted(parts.given(), key=lambda item: -item.end)
        for item in given:
            end = item.start + max(1, len(item.text) // 2)
            yield parts.change(
                [("replace", "/instruction", parts.task.instruction[:end])],
                INSTRUCTION,
                f"the instruction ends after {end} characters, inside {item.text!r}",
            )


def _mixed(clean: Clean) -> Iterator[Change]:
    tasks = list(parts_of(clean))
    for parts, other in zip(tasks, [*tasks[1:], *tasks[:1]], strict=True):
        spans = sentences(parts.task.instruction)
        start, end = sentences(other.task.instruction)[0]
        text = other.task.instruction[start:end]
        for here in spans:
            if parts.task.instruction[slice(*here)] != text:
                yield parts.reworded([(*here, text)], "a sentence belongs to another task")


def _negated(clean: Clean) -> Iterator[Change]:
    for parts in parts_of(clean):
        idle = parts.idle_writes()
        text = parts.task.instruction
        for label, demand in sorted(parts.task.demands.items()):
            starts = {start for start, _end in sentences(text)}
            if demand.step not in idle or demand.start not in starts:
                continue
            first = text[demand.start].lower() + text[demand.start + 1 : demand.end]
            end = demand.start + 1
            yield parts.reworded(
                [(demand.start, end, words()["negated"].format(rest=first[0]))],
                f"the instruction forbids what {label} demands",
                [
                    ("remove", pointer_of("demands", label), None),
                    ("remove", pointer_of("gold", demand.step), None),
                ],
            )


def _others(parts: Parts, item: Given) -> list[tuple[str, str]]:
    """Return field and value of the other rows that the instruction could have named."""
    found = {
        (field, str(other.values[field]))
        for row, field in parts.named(parts.task.gold[item.step].service, item.text)
        for other in parts.alike(row)
        if other.values.get(field) not in (None, "", item.text)
    }
    return sorted(found)


def _appended(parts: Parts, form: str, value: str) -> tuple[str, int, int]:
    """Return the instruction with a sentence more, and where in it the value stands."""
    before, _, after = form.partition("{value}")
    start = len(parts.task.instruction) + len(before)
    return parts.task.instruction + before + value + after, start, start + len(value)


def _contradicting(clean: Clean) -> Iterator[Change]:
    for parts in parts_of(clean):
        for item in parts.given():
            others = _others(parts, item)
            if not others:
                continue
            _field, value = clean.rng.choice(others)
            text, start, end = _appended(parts, words()["contradicting"], value)
            at = ("gold", item.step, "arguments", item.pointer)
            yield parts.change(
                [
                    ("replace", "/instruction", text),
                    ("replace", pointer_of(*at, "start"), start),
                    ("replace", pointer_of(*at, "end"), end),
                ],
                INSTRUCTION,
                f"the instruction says {item.text!r}, and then {value!r}",
            )


def _extra(clean: Clean) -> Iterator[Change]:
    for parts in parts_of(clean):
        for item in parts.given():
            finder = parts.task.gold[item.step]
            if parts.calls[item.step].changes:
                continue
            for write in parts.writes():
                if _sources(parts, write) != {item.step} or not _others(parts, item):
                    continue
                _field, value = clean.rng.choice(_others(parts, item))
                text, start, end = _appended(parts, words()["again"], value)
                found, written = parts.new_step(1), parts.new_step(2)
                body = parts.body["gold"]
                reading: dict[str, Any] = {**body[item.step]}
                reading["arguments"] = {
                    **reading["arguments"],
                    item.pointer: {
                        "kind": "instruction",
                        "start": start,
                        "end": end,
                        "cast": item.cast,
                    },
                }
                writing: dict[str, Any] = {**body[write]}
                writing["arguments"] = {
                    pointer: {**source, "step": found}
                    if source["kind"] == "observation"
                    else source
                    for pointer, source in writing["arguments"].items()
                }
                demand = f"d{len(parts.task.demands) + 1:02d}"
                span = {"start": len(parts.task.instruction) + 1, "end": len(text)}
                yield parts.change(
                    [
                        ("replace", "/instruction", text),
                        ("add", pointer_of("gold", found), reading),
                        ("add", pointer_of("gold", written), writing),
                        ("add", pointer_of("demands", demand), {**span, "step": written}),
                    ],
                    INSTRUCTION,
                    f"the instruction asks for {finder.service} {value!r} too",
                )


def _sources(parts: Parts, step: str) -> set[str]:
    """Return the steps whose answers a step is made from; none where it works something out."""
    sources = parts.task.gold[step].arguments.values()
    if any(isinstance(source, FromExpression) for source in sources):
        return set()
    return {place.step for source in sources for place in observations_of(source)}


def _other_field(clean: Clean) -> Iterator[Change]:
    for parts in parts_of(clean):
        for item in parts.used():
            asked = str(item.source.path[-1]).replace("_", " ")
            places = parts.everywhere(asked, "")
            if item.step != "answer" or not places:
                continue
            for path, _value in sibling_paths(item)[:3]:
                new = str(path[-1]).replace("_", " ")
                yield parts.reworded(
                    parts.everywhere(asked, new),
                    f"the instruction asks for the {new}, not the {asked}",
                    [("replace", pointer_of(*item.at, "path"), list(path))],
                )


def _other_end(clean: Clean) -> Iterator[Change]:
    for parts in parts_of(clean):
        body = parts.body
        for label, referent in sorted(parts.task.referents.items()):
            if referent.pick is None:
                continue
            turned = _turned(parts, referent.step, not referent.pick.most)
            told = body["instruction"][referent.start : referent.end]
            for word, opposite in words()["ends"].items():
                found = re.search(rf"\b{word}\b", told)
                if found is None:
                    continue
                start = referent.start + found.start()
                yield parts.reworded(
                    [(start, start + len(word), opposite)],
                    f"{label} says {opposite} for {word}",
                    turned,
                )


def _turned(parts: Parts, step: str, most: bool) -> list[tuple[str, str, Any]]:
    """Return the operations with which gold picks the other end of what a step answered."""
    steps: list[tuple[str, str, Any]] = []

    def turn(node: Any, *at: str) -> None:
        if not isinstance(node, dict):
            return
        if isinstance(node.get("pick"), dict) and node.get("step") == step:
            steps.append(("replace", pointer_of(*at, "pick", "most"), most))
        for key, inner in sorted(node.items()):
            turn(inner, *at, key)

    body = parts.body
    for key in ("gold", "answer", "referents"):
        turn(body[key], key)
    return steps


def _one_mention(clean: Clean) -> Iterator[Change]:
    for parts in parts_of(clean):
        for item in parts.given():
            others = _others(parts, item)
            if others and len(parts.everywhere(item.text, "")) > 1:
                _field, value = clean.rng.choice(others)
                yield parts.reworded(
                    [(item.start, item.end, value)],
                    f"the instruction calls the same row {value!r} and {item.text!r}",
                )


def _two_names(clean: Clean) -> Iterator[Change]:
    for parts in parts_of(clean):
        for item in parts.given():
            others = _others(parts, item)
            if others:
                _field, value = clean.rng.choice(others)
                both = f"{item.text} or {value}"
                yield parts.reworded(
                    parts.everywhere(item.text, both),
                    f"the instruction leaves open which of {both} is meant",
                )


def _kind(name: str, statement: str, places: Any) -> FaultKind:
    return FaultKind(name=name, component=Component.TASK, statement=statement, places=places)


KINDS: tuple[FaultKind, ...] = (
    _kind("truncated", "The instruction breaks off.", _truncated),
    _kind("mixed_sentences", "A sentence of the instruction comes from another task.", _mixed),
    _kind("negated_demand", "The instruction forbids what the task is about.", _negated),
    _kind(
        "contradicting_demand",
        "The instruction takes back what it named, and names another row.",
        _contradicting,
    ),
    _kind("extra_demand", "The instruction asks for one write more.", _extra),
    _kind("wrong_field_asked", "The instruction asks for another field.", _other_field),
    _kind(
        "wrong_end",
        "The instruction asks for the first of several rows where the last is meant, or the "
        "reverse.",
        _other_end,
    ),
    _kind(
        "inconsistent_mention",
        "The instruction calls the same row by two different names.",
        _one_mention,
    ),
    _kind("open_choice", "The instruction leaves open which of two rows is meant.", _two_names),
)
