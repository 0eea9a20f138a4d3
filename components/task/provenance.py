"""Where gold's values come from: derived again from the instruction and from earlier answers.

Owns the one reading of `Provenance`: certificates, the oracle and attribution derive values here
and nowhere else. It never executes a call, and it never falls back: a value that cannot be derived
is an error that names its pointer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from components.errors import SynthesisError
from components.records.frozen import FrozenDict, JsonObject, freeze
from components.records.task import (
    FromDefault,
    FromExpression,
    FromInstruction,
    FromObservation,
    FromRows,
    FromRule,
    GoldStep,
    Provenance,
    Task,
    has_all,
)
from components.task.moments import moment_at, moment_on
from components.task.relations import keeps

Observed = Mapping[str, Any]
"""`data` of the answers that are known, by gold step; at `CLOCK` the world's clock."""
CLOCK = "@clock"
"""Stands for the clock where an answer's step is expected; it sorts before every step."""
UNSAID = "\x00"
"""Stands for each character of an instruction that the user of a multi-turn task has not said."""
Path = tuple[str | int, ...]
"""A place in JSON: keys and indexes."""

_BOOLEANS = {"true": True, "yes": True, "false": False, "no": False}


class ProvenanceError(SynthesisError):
    """A value cannot be derived; `pointer` says which, `step` which answer it wanted."""

    def __init__(self, pointer: str, problem: str, step: str = "") -> None:
        """Args: pointer of the argument or answer field; problem in words; step it wanted."""
        super().__init__(f"{pointer}: {problem}")
        self.pointer, self.problem, self.step = pointer, problem, step


def derive_arguments(step: GoldStep, instruction: str, observed: Observed) -> JsonObject:
    """Return the arguments of one gold step.

    Args:
        step: its arguments are JSON Pointers to where each value comes from. Places
            whose names are exactly `0`, `1`, ... make a list.
        instruction: the task's text, which spans point into.
        observed: answers known so far.

    Raises:
        ProvenanceError: an argument cannot be derived.
    """
    values = {
        pointer: derive_value(source, instruction, observed, pointer)
        for pointer, source in sorted(step.arguments.items())
    }
    return assemble(values)


def derive_answer(task: Task, observed: Observed) -> JsonObject:
    """Return the `answer` object of the `finish` call.

    Raises:
        ProvenanceError: a field cannot be derived.
    """
    return FrozenDict(
        {
            field: derive_value(source, task.instruction, observed, f"/{field}")
            for field, source in sorted(task.answer.items())
        }
    )


def derive_value(
    source: Provenance, instruction: str, observed: Observed, pointer: str = ""
) -> Any:
    """Return one value.

    Args:
        source: where it comes from.
        instruction: the task's text.
        observed: answers known so far.
        pointer: place that the value is for; only named in errors.

    Raises:
        ProvenanceError: the span, the step or the path is not there, or a text does not cast.
    """
    match source:
        case FromInstruction():
            if not source.start < source.end <= len(instruction):
                raise ProvenanceError(pointer, "its span is not inside the instruction")
            text = instruction[source.start : source.end]
            if UNSAID in text:
                raise ProvenanceError(pointer, "the user has not said it yet")
            if source.cast == "moment":
                return _moment(text, observed, pointer)
            return _cast(text, source.cast, pointer)
        case FromObservation():
            if source.step not in observed:
                raise ProvenanceError(pointer, f"step {source.step} has not answered", source.step)
            place = concrete(source, observed[source.step])
            found, value = at_path(observed[source.step], place.path)
            if not found:
                shown = "/".join(map(str, place.path))
                raise ProvenanceError(
                    pointer, f"step {source.step} shows nothing at {shown}", source.step
                )
            return value
        case FromRows():
            return _over_rows(source, observed, pointer)
        case FromDefault():
            return source.value
        case FromExpression():
            inputs = {
                name: derive_value(part, instruction, observed, pointer)
                for name, part in sorted(source.inputs.items())
            }
            return _compute(source, inputs, pointer)
        case FromRule():
            value = derive_value(source.source, instruction, observed, pointer)
            is_kept = keeps(source.relation, value, source.value)
            return source.allowed if is_kept else source.otherwise


def observations_of(source: Provenance) -> tuple[FromObservation, ...]:
    """Return every observation that a value rests on."""
    if isinstance(source, FromObservation):
        return (source,)
    if isinstance(source, FromRows):
        return (FromObservation(step=source.step, path=source.path),)
    if isinstance(source, FromRule):
        return (source.source,)
    if isinstance(source, FromExpression):
        return tuple(
            place
            for _name, part in sorted(source.inputs.items())
            for place in observations_of(part)
        )
    return ()


def concrete(place: FromObservation, data: Any) -> FromObservation:
    """Return the place of the value itself, its pick made; the list's own where none is picked."""
    if place.pick is None:
        return place
    found, rows = at_path(data, place.path)
    index = place.pick.index_in(rows) if found else None
    path = place.path if index is None else (*place.path, index)
    return FromObservation(step=place.step, path=(*path, place.field))


def turned(task: Task, step: str) -> Task:
    """Return a task that picks the row at the other end wherever it picks one a step answered."""

    def turn(source: Provenance) -> Provenance:
        if isinstance(source, FromExpression):
            inputs = {name: turn(part) for name, part in source.inputs.items()}
            return source.model_copy(update={"inputs": FrozenDict(inputs)})
        if isinstance(source, FromRule):
            return source.model_copy(update={"source": turn(source.source)})
        if isinstance(source, FromObservation) and source.step == step and source.pick is not None:
            pick = source.pick.model_copy(update={"most": not source.pick.most})
            return source.model_copy(update={"pick": pick})
        return source

    gold = {
        name: item.model_copy(
            update={
                "arguments": FrozenDict({key: turn(part) for key, part in item.arguments.items()})
            }
        )
        for name, item in task.gold.items()
    }
    answer = {name: turn(source) for name, source in task.answer.items()}
    return task.model_copy(update={"gold": FrozenDict(gold), "answer": FrozenDict(answer)})


def at_path(value: Any, path: Path) -> tuple[bool, Any]:
    """Return whether `path` leads anywhere in a JSON value, and what is there."""
    for part in path:
        if isinstance(part, str):
            is_there = isinstance(value, Mapping) and part in value
        else:
            is_there = isinstance(value, (list, tuple)) and 0 <= part < len(value)
        if not is_there:
            return False, None
        value = value[part]
    return True, value


def leaves(value: Any, start: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield every scalar in a JSON value with its path, in order."""
    if isinstance(value, Mapping):
        for key in sorted(value):
            yield from leaves(value[key], (*start, key))
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from leaves(item, (*start, index))
    else:
        yield start, value


def mask_path(value: Any, path: Path) -> Any:
    """Return the JSON value with null at `path`; unchanged where the path leads nowhere."""
    if not path:
        return None
    head, rest = path[0], path[1:]
    if isinstance(head, str) and isinstance(value, Mapping) and head in value:
        return FrozenDict({**value, head: mask_path(value[head], rest)})
    if isinstance(head, int) and isinstance(value, (list, tuple)) and head < len(value):
        return tuple(
            mask_path(item, rest) if index == head else item for index, item in enumerate(value)
        )
    return value


def shows(text_or_data: Any, value: Any) -> bool:
    """Return whether a reader could take `value` from a text or from a JSON answer.

    A text or number of one character, true, false and null are never taken to be shown: they are
    everywhere. Text counts as shown inside longer text only as a whole word, in any case.
    """
    needle = _needle(value)
    if needle is None:
        return False
    if isinstance(text_or_data, str):
        return _is_word_in(needle, text_or_data)
    return any(
        _is_word_in(needle, str(leaf))
        for _path, leaf in leaves(text_or_data)
        if leaf is not None and not isinstance(leaf, bool)
    )


def assemble(values: Mapping[str, Any]) -> JsonObject:
    """Return the object whose leaves stand at these JSON Pointers.

    Raises:
        ProvenanceError: a pointer does not begin with `/`, or lies inside another's value.
    """
    tree: dict[str, Any] = {}
    for pointer, value in sorted(values.items()):
        if not pointer.startswith("/"):
            raise ProvenanceError(pointer, "not a JSON Pointer into the arguments")
        *parents, last = (
            part.replace("~1", "/").replace("~0", "~") for part in pointer[1:].split("/")
        )
        place = tree
        for part in parents:
            inner = place.setdefault(part, {})
            if not isinstance(inner, dict):
                raise ProvenanceError(pointer, "lies inside the value of another pointer")
            place = inner
        if last in place:
            raise ProvenanceError(pointer, "lies inside the value of another pointer")
        place[last] = _Leaf(value)
    return FrozenDict({key: _grown(item) for key, item in tree.items()})


class _Leaf:
    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


def _grown(node: Any) -> Any:
    if isinstance(node, _Leaf):
        return freeze(node.value)
    if set(node) == {str(index) for index in range(len(node))}:
        return tuple(_grown(node[str(index)]) for index in range(len(node)))
    return FrozenDict({key: _grown(item) for key, item in node.items()})


def _cast(text: str, kind: str, pointer: str) -> Any:
    try:
        match kind:
            case "integer":
                return int(text)
            case "number":
                return float(text) if "." in text or "e" in text.lower() else int(text)
            case "boolean":
                return _BOOLEANS[text.lower()]
            case "date":
                moment = moment_on(text)
                if moment is None:
                    raise ValueError(text)
                return moment
            case _:
                return text
    except (ValueError, KeyError) as error:
        raise ProvenanceError(pointer, f"{text!r} is no {kind}") from error


def _moment(text: str, observed: Observed, pointer: str) -> str:
    if CLOCK not in observed:
        raise ProvenanceError(pointer, f"{text!r} needs the clock, which nothing showed", CLOCK)
    moment = moment_at(text, observed[CLOCK])
    if moment is None:
        raise ProvenanceError(pointer, f"{text!r} is no time relative to the clock")
    return moment


def tells_time(task: Task) -> bool:
    """Return whether a value of gold is a time relative to the world's clock."""
    return any(
        isinstance(source, FromInstruction) and source.cast == "moment"
        for step in task.gold.values()
        for source in step.arguments.values()
    )


def clock_of(task: Task) -> dict[str, str]:
    """Return the clock as it stands beside the answers that are known, for a task that needs it."""
    return {CLOCK: task.world.now} if tells_time(task) else {}


def _compute(source: FromExpression, inputs: Mapping[str, Any], pointer: str) -> str:
    odd = sorted(
        name for name, item in inputs.items() if isinstance(item, bool) or not _is_plain(item)
    )
    if odd:
        raise ProvenanceError(pointer, f"{odd[0]} is no text or number")
    if source.operation == "concat":
        return "".join(str(item) for _name, item in sorted(inputs.items()))

    def fill(found: re.Match[str]) -> str:
        if found[1] not in inputs:
            raise ProvenanceError(pointer, f"the template names {found[1]!r}, which has no input")
        return str(inputs[found[1]])

    return re.sub(r"\{(\w+)\}", fill, source.template)


def _over_rows(source: FromRows, observed: Observed, pointer: str) -> int | float:
    if source.step not in observed:
        raise ProvenanceError(pointer, f"step {source.step} has not answered", source.step)
    found, rows = at_path(observed[source.step], source.path)
    if not found or not isinstance(rows, (list, tuple)):
        shown = "/".join(map(str, source.path))
        raise ProvenanceError(pointer, f"step {source.step} shows no list at {shown}", source.step)
    taken = [row for row in rows if isinstance(row, Mapping) and has_all(row, source.where)]
    if source.operation == "count":
        return len(taken)
    values = [row.get(source.field) for row in taken]
    numbers = [v for v in values if isinstance(v, (int, float)) and not isinstance(v, bool)]
    if len(numbers) != len(values):
        raise ProvenanceError(pointer, f"a row has no number {source.field}", source.step)
    return sum(numbers)


def _is_plain(value: Any) -> bool:
    return isinstance(value, (str, int, float))


def _needle(value: Any) -> str | None:
    if value is None or isinstance(value, bool) or not _is_plain(value):
        return None
    text = str(value).strip()
    return text if len(text) > 1 else None


def _is_word_in(needle: str, text: str) -> bool:
    if text.isascii() and needle.isascii():
        return _is_ascii_word_in(needle.lower(), text.lower())
    pattern = rf"(?<![A-Za-z0-9_]){re.escape(needle)}(?![A-Za-z0-9_])"
    return re.search(pattern, text, re.IGNORECASE) is not None


def _is_ascii_word_in(needle: str, text: str) -> bool:
    """Say what the pattern says, of ASCII alone, without a pattern for every needle."""
    start = text.find(needle)
    while start >= 0:
        end = start + len(needle)
        around = text[start - 1 : start] if start else "", text[end : end + 1]
        if not any(char == "_" or char.isalnum() for char in around):
            return True
        start = text.find(needle, start + 1)
    return False
