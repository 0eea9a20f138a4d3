"""Where the values of accepted calls come from: the request, an earlier answer, or a stated rule.

Owns the search for a value's provenance in a line of play that somebody else made. What it finds is
derived again, and judged, by the gates; what it does not find is a value that nobody could know.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from components.records.calls import CallRecord
from components.records.frozen import FrozenDict
from components.records.task import (
    FromDefault,
    FromExpression,
    FromObservation,
    FromRows,
    Pick,
    Provenance,
)
from components.task.gates import parameter_of
from components.task.graph import Parameter, Place, Role, ToolGraph, ToolShape
from components.task.known import Known, known_in
from components.task.model_author.records import Design, Effect, Wanted
from components.task.model_author.stated import says_which, span_of, stated
from components.task.provenance import (
    Path,
    ProvenanceError,
    at_path,
    derive_value,
    leaves,
    shows,
)
from components.task.reasons import Reason, Rejection


class Sources:
    """The values that a line of play has shown, and where a request states one."""

    def __init__(
        self, design: Design, graph: ToolGraph, records: Sequence[CallRecord], now: str
    ) -> None:
        """Args: design: the request; graph: the tools; records: accepted calls; now: the clock."""
        self._design, self._graph, self._records, self._now = design, graph, records, now
        self._data = [record.envelope["data"] for record in records]
        self.known: tuple[dict[Path, Known], ...] = tuple(
            {
                item.path: item
                for item in known_in(
                    graph, self.shape(number), name_of(number), data, every_row=True
                )
            }
            for number, data in enumerate(self._data)
        )

    def shape(self, number: int) -> ToolShape:
        """Return the tool of an accepted call."""
        record = self._records[number]
        return self._graph.tools[record.service, record.tool]

    def arguments(
        self, number: int, effect: Effect | None
    ) -> FrozenDict[str, Provenance] | Rejection:
        """Return where each argument of an accepted call comes from.

        Args:
            number: of the call.
            effect: what asks for it; None: it only reads.
        """
        record, found = self._records[number], dict[str, Provenance]()
        for pointer, value in _values(record.arguments):
            source = self._argument(number, pointer, value, effect)
            if isinstance(source, Rejection):
                return source
            found[pointer] = source
        return FrozenDict(found)

    def answer(self, field: str, wanted: Wanted, value: Any) -> Provenance | Rejection:
        """Return where a field of the answer comes from."""
        if wanted.rule is not None:
            return self._by_rule(field, wanted, value)
        if isinstance(value, bool) or not isinstance(value, (str, int, float)):
            return _no(Reason.UNSTATED_VALUE, f"answer.{field} must be a text or a number")
        seen = self._observed(len(self._records), value, None)
        if seen is None:
            detail = f"answer.{field}: no answer of a tool shows {value!r}"
            return _no(Reason.UNSTATED_VALUE, detail)
        return seen

    def _argument(
        self, number: int, pointer: str, value: Any, effect: Effect | None
    ) -> Provenance | Rejection:
        shape = self.shape(number)
        parameter = parameter_of(shape, pointer)
        instruction = self._design.instruction
        if effect is not None:
            span = span_of(instruction, effect.words)
            inside = stated(instruction, value, self._now, span)
            if inside:
                return inside[0]
        anywhere = stated(instruction, value, self._now)
        if anywhere:
            return anywhere[0]
        seen = self._observed(number, value, None if parameter is None else parameter.means)
        if seen is not None:
            return seen
        is_default = parameter is not None and parameter.schema.get("default") == value
        if is_default or self._is_free(effect, parameter, value):
            return FromDefault(value=value)
        if effect is not None and effect.holds and isinstance(value, str):
            return self._text(number, value, effect)
        where = f"{shape.service}.{shape.name}{pointer}"
        detail = f"{where}: {value!r} stands neither in the request nor in an earlier answer"
        return _no(Reason.UNSTATED_VALUE, detail)

    def _is_free(self, effect: Effect | None, parameter: Parameter | None, value: Any) -> bool:
        """Whether nobody needs to know a value: a page's size, or a text in one's own words."""
        if effect is None:
            is_other = parameter is not None and parameter.role is Role.OTHER
            is_word = isinstance(value, str) and not (parameter and parameter.schema.get("enum"))
            return is_other and not is_word
        is_text = parameter is not None and parameter.is_free_text and isinstance(value, str)
        return is_text and not any(item in value for item in effect.holds)

    def _text(self, number: int, text: str, effect: Effect) -> Provenance | Rejection:
        """Return a text whose wording is free, around the values that it must hold."""
        if re.search(r"\{\w+\}", text):
            return _no(Reason.UNDERIVABLE, "a text may not hold words in curly brackets")
        inputs: dict[str, Provenance] = {}
        names: dict[str, str] = {}
        for item in sorted(set(effect.holds) & _held(text, effect.holds), key=len, reverse=True):
            source = self._fact(number, item)
            if isinstance(source, Rejection):
                return source
            names[item] = f"f{len(inputs) + 1}"
            inputs[names[item]] = source
        pattern = "|".join(map(re.escape, names))
        template = re.sub(pattern, lambda match: f"{{{names[match[0]]}}}", text)
        return FromExpression(operation="format", template=template, inputs=FrozenDict(inputs))

    def _fact(self, number: int, item: str) -> Provenance | Rejection:
        """Return where a value comes from that a text must hold."""
        places = stated(self._design.instruction, item, self._now)
        if places:
            return places[0]
        seen = self._observed(number, item, None, as_text=True)
        if seen is not None:
            return seen
        detail = f"the text's {item!r} stands neither in the request nor in an earlier answer"
        return _no(Reason.UNSTATED_VALUE, detail)

    def _observed(
        self, before: int, value: Any, means: Place | None, *, as_text: bool = False
    ) -> FromObservation | Rejection | None:
        """Return where an earlier answer shows a value, at best one that means the same."""
        found: list[tuple[bool, int, FromObservation]] = []
        unclear = ""
        for number in range(before):
            for path, leaf in leaves(self._data[number]):
                if not (str(leaf) == value if as_text else _is_same(leaf, value)):
                    continue
                place = self._placed(number, path)
                if isinstance(place, str):
                    unclear = unclear or place
                    continue
                fact = self.known[number].get(path)
                is_other = means is not None and (fact is None or fact.means != means)
                found.append((is_other, number, place))
        if found:
            return min(found, key=lambda item: item[:2])[2]
        return _no(Reason.AMBIGUOUS_REFERENT, unclear) if unclear else None

    def _placed(self, number: int, path: Path) -> FromObservation | str:
        """Return a place in an answer, or why the request does not say which row it is."""
        data, name = self._data[number], name_of(number)
        for depth, part in enumerate(path):
            _found, rows = at_path(data, path[:depth])
            if not isinstance(part, int) or len(rows) == 1:
                continue
            rest = path[depth + 1 :]
            for said in self._design.picks if len(rest) == 1 else ():
                pick = Pick(by=said.by, most=said.most)
                is_said = span_of(self._design.instruction, said.words) is not None
                if is_said and says_which(said.words, said.most) and pick.index_in(rows) == part:
                    return FromObservation(
                        step=name, path=path[:depth], pick=pick, field=str(rest[0])
                    )
            record = self._records[number]
            return (
                f"{record.service}.{record.tool} shows {len(rows)} rows, and the request does not "
                "say which one is meant"
            )
        return FromObservation(step=name, path=path)

    def _by_rule(self, field: str, wanted: Wanted, value: Any) -> Provenance | Rejection:
        rule, instruction = wanted.rule, self._design.instruction
        assert rule is not None
        for key, needed in sorted(rule.where.items()):
            if not shows(instruction, needed):
                detail = f"answer.{field}: the request does not say that {key} is {needed!r}"
                return _no(Reason.UNSTATED_VALUE, detail)
        for number, data in enumerate(self._data):
            for path in _lists(data):
                source = FromRows(
                    step=name_of(number), path=path, operation=rule.operation,
                    where=rule.where, field=rule.field,
                )  # fmt: skip
                try:
                    made = derive_value(source, instruction, {source.step: data})
                except ProvenanceError:
                    continue
                if _is_same(made, value):
                    return source
        detail = f"answer.{field}: no list that was read gives {value!r} by its rule"
        return _no(Reason.UNSTATED_VALUE, detail)


def name_of(number: int) -> str:
    """Return the name of an accepted call while it is not known which calls count."""
    return f"c{number:03d}"


def _values(arguments: Any, pointer: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every scalar with its JSON Pointer; an empty list or object counts as one."""
    if isinstance(arguments, dict) and (arguments or pointer):
        parts = [(str(key), item) for key, item in sorted(arguments.items())]
    elif isinstance(arguments, tuple):
        parts = [(str(index), item) for index, item in enumerate(arguments)]
    else:
        parts = []
    if not parts and pointer:
        yield pointer, arguments
    for key, item in parts:
        yield from _values(item, f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}")


def _lists(data: Any, start: Path = ()) -> Iterator[Path]:
    if isinstance(data, dict):
        for key in sorted(data):
            yield from _lists(data[key], (*start, key))
    elif isinstance(data, tuple):
        yield start


def _held(text: str, values: Sequence[str]) -> set[str]:
    return {item for item in values if item in text}


def _is_same(left: Any, right: Any) -> bool:
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, (int, float)) and isinstance(right, (int, float)):
        return bool(left == right)
    return type(left) is type(right) and left is not None and bool(left == right)


def _no(reason: Reason, detail: str) -> Rejection:
    return Rejection(reason=reason, detail=detail)
