"""Kinds of fault of the task: the answer that it asks for cannot be given, or is another one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from attribution.change import Change
from attribution.evidence import pointer_of
from attribution.faults.kinds import Clean, FaultKind
from attribution.faults.task_parts import Parts, parts_of, sibling_paths
from components.records.patch import Component

_OTHER_TYPES = {"string": "integer", "integer": "string", "number": "string", "boolean": "string"}


def _asked(clean: Clean) -> Iterator[tuple[Parts, str, Mapping[str, Any]]]:
    """Yield each answer field that a task asks for, with its schema."""
    for parts in parts_of(clean):
        properties = parts.body["answer_schema"].get("properties") or {}
        for name in sorted(parts.task.answer):
            if name in properties:
                yield parts, name, properties[name]


def _wrong_source(clean: Clean) -> Iterator[Change]:
    for parts in parts_of(clean):
        for item in parts.used():
            if item.step == "answer":
                for path, _value in sibling_paths(item)[:2]:
                    yield parts.change(
                        [("replace", pointer_of(*item.at, "path"), list(path))],
                        item.at,
                        f"the answer's {item.at[-1]} is taken from {path[-1]}",
                    )


def _left_out(clean: Clean) -> Iterator[Change]:
    for parts, name, _schema in _asked(clean):
        yield parts.change(
            [("remove", pointer_of("answer", name), None)],
            ("answer", name),
            f"gold's answer lacks {name}, which is asked for",
        )


def _fixed(clean: Clean) -> Iterator[Change]:
    given = _answers(clean)
    for parts, name, _schema in _asked(clean):
        others = [value for value in given[name] if value != _answer(parts, name)]
        if others:
            value = clean.rng.choice(others)
            yield parts.change(
                [("replace", pointer_of("answer", name), {"kind": "default", "value": value})],
                ("answer", name),
                f"the answer's {name} is always {value!r}",
            )


def _answer(parts: Parts, name: str) -> Any:
    """Return what the certified answer has for a field."""
    certificate = parts.system.reference.certificates[parts.task.task_id]
    return certificate.gold_answer.get(name)


def _answers(clean: Clean) -> dict[str, list[Any]]:
    """Return what certified answers have, by the name of the field."""
    found: dict[str, list[Any]] = {}
    for parts, name, _schema in _asked(clean):
        found.setdefault(name, []).append(_answer(parts, name))
    return found


def _renamed(clean: Clean) -> Iterator[Change]:
    for parts, name, _schema in _asked(clean):
        new = f"{name}_value"
        properties = parts.body["answer_schema"]["properties"]
        renamed = {new if key == name else key: item for key, item in properties.items()}
        required = [
            new if key == name else key for key in parts.body["answer_schema"].get("required", [])
        ]
        yield parts.change(
            [
                ("replace", "/answer_schema/properties", renamed),
                ("replace", "/answer_schema/required", required),
            ],
            ("answer_schema", "properties"),
            f"the answer is asked for as {new}, and gold gives {name}",
        )


def _wrong_type(clean: Clean) -> Iterator[Change]:
    for parts, name, schema in _asked(clean):
        other = _OTHER_TYPES.get(str(schema.get("type")))
        if other is not None:
            at = ("answer_schema", "properties", name, "type")
            yield parts.change(
                [("replace", pointer_of(*at), other)],
                at,
                f"the answer's {name} is asked for as {other}",
            )


def _more_required(clean: Clean) -> Iterator[Change]:
    for parts, name, _schema in _asked(clean):
        body = parts.body["answer_schema"]
        new = f"{name}_reason"
        at = ("answer_schema", "properties", new)
        yield parts.change(
            [
                ("add", pointer_of(*at), {"type": "string"}),
                ("replace", "/answer_schema/required", [*body.get("required", []), new]),
            ],
            at,
            f"the answer must have {new}, of which nothing is known",
        )


def _few_choices(clean: Clean) -> Iterator[Change]:
    given = _answers(clean)
    for parts, name, schema in _asked(clean):
        texts = {value for value in given[name] if isinstance(value, str)}
        others = sorted(texts - {_answer(parts, name)})
        if schema.get("type") == "string" and others:
            at = ("answer_schema", "properties", name, "enum")
            yield parts.change(
                [("add", pointer_of(*at), others[:3])],
                at,
                f"the answer's {name} may only be one of {others[:3]}",
            )


def _too_short(clean: Clean) -> Iterator[Change]:
    for parts, name, schema in _asked(clean):
        value = _answer(parts, name)
        if schema.get("type") == "string" and isinstance(value, str) and len(value) > 1:
            at = ("answer_schema", "properties", name, "maxLength")
            yield parts.change(
                [("add", pointer_of(*at), len(value) // 2)],
                at,
                f"the answer's {name} may have {len(value) // 2} characters",
            )


def _kind(name: str, statement: str, places: Any) -> FaultKind:
    return FaultKind(name=name, component=Component.TASK, statement=statement, places=places)


KINDS: tuple[FaultKind, ...] = (
    _kind("wrong_answer_source", "The expected answer is taken from another field.", _wrong_source),
    _kind("answer_left_out", "Gold's answer lacks a field that is asked for.", _left_out),
    _kind("fixed_answer", "The expected answer is a constant of another task.", _fixed),
    _kind("answer_renamed", "The answer is asked for under another name.", _renamed),
    _kind("answer_type", "The answer is asked for as another type.", _wrong_type),
    _kind(
        "answer_more_required",
        "The answer must have a field of which nothing is known.",
        _more_required,
    ),
    _kind("answer_choices", "The choices of the answer do not hold the right one.", _few_choices),
    _kind("answer_too_short", "The right answer is longer than the answer may be.", _too_short),
)
