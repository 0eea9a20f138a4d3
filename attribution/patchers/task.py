"""Repairs of a task, from its certified run: the value put back, gold taken from where it can be
had, rows as they were.

Candidates come smallest first; retiring the task is the last. Nothing here decides:
`attribution.accept` does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from jsonpointer import resolve_pointer

from attribution.change import Change, Operation, put
from attribution.evidence import pointer_of, split_place
from attribution.interventions.clauses import observed_by
from attribution.interventions.derivation import text_of
from attribution.patchers.rows import certified_rows, mended_rows, row_of_place
from attribution.patchers.script import said_whole
from attribution.records import Evidence
from attribution.swap import body_of
from components.records.frozen import thaw
from components.records.system import System
from components.records.task import Certificate, Task
from components.task.moments import TIMES, date_words, days_between, moments_said, words_for
from components.task.provenance import CLOCK, ProvenanceError, derive_value, leaves
from components.task.rules import certified_rules

_MISSING = object()
_MIN_WORDS = 6
"""Shortest text, in characters, that stands for the same value wherever it is written."""


def task_changes(system: System, place: str, evidence: Sequence[Evidence]) -> Iterator[Change]:
    """Yield candidate repairs of one place of a task, smallest first.

    Args:
        system: the system with the defect.
        place: where it is.
        evidence: what speaks against that place.
    """
    artifact, parts = split_place(place)
    task = system.tasks.get(artifact.partition("/")[2])
    certificate = None if task is None else system.reference.certificates.get(task.task_id)
    if task is None:
        return
    if certificate is not None and parts:
        yield from _Mender(system, task, certificate, place).changes(parts, evidence)
    yield Change(
        artifact="retired",
        operations=(("add", pointer_of(task.task_id), f"defective at {place}"),),
        reason=f"task {task.task_id} cannot be repaired at {place}",
        place=place,
    )


class _Mender:
    """Writes the changes of one task."""

    def __init__(self, system: System, task: Task, certificate: Certificate, place: str) -> None:
        self._system, self._task, self._certificate = system, task, certificate
        self._artifact = f"task/{task.task_id}"
        self._body: dict[str, Any] = body_of(system, self._artifact)
        self._place = place

    def changes(self, parts: tuple[str, ...], evidence: Sequence[Evidence]) -> Iterator[Change]:
        head = parts[0]
        if head == "instruction":
            yield from self._texts()
        elif head == "gold" and len(parts) == 4:
            yield from self._argument(parts[1], parts[3])
        elif head == "gold" and len(parts) >= 2:
            yield from self._step(parts[1])
        elif head == "answer" and len(parts) == 2:
            yield from self._answer_field(parts[1])
        elif head == "answer_schema":
            yield from self._schema()
        elif head == "world" and parts[1:2] == ("overrides",):
            yield from self._row()
        elif head == "world" and parts[1:2] == ("now",):
            for item in evidence:
                if "certified" in item.data:
                    yield self._change(
                        [("replace", "/world/now", item.data["certified"])],
                        "certified times show it",
                    )
        elif head == "world":
            yield from self._services()
        elif head == "policy_rules":
            yield from self._rules()
        elif head == "user":
            steps = said_whole(self._body)
            if steps:
                yield self._change(steps, "the user says all of the instruction, in order")
        elif head in ("demands", "referents") and len(parts) == 2:
            yield self._change(
                [("remove", pointer_of(*parts), None)], f"it is no span for a step: {parts[1]}"
            )

    def _rules(self) -> Iterator[Change]:
        """The rules of the world contract, put back in their words."""
        told = certified_rules(
            self._system.reference.contract,
            self._system.environment.blueprints,
            self._task,
            self._certificate,
        )
        yield self._change(
            [("replace", "/policy_rules", list(told))], "the world contract has these rules"
        )

    def _texts(self) -> Iterator[Change]:
        """Put certified values back into the instruction, all spans moved along.

        Words that stand where a value was lost are taken to stand for it wherever they are written.
        """
        text, places = self._body["instruction"], {}
        for source, wanted in self._sourced(self._body):
            if source.get("kind") != "instruction":
                continue
            words, value = text[source["start"] : source["end"]], text_of(wanted)
            if source.get("cast") in ("date", "moment") and TIMES.fullmatch(value):
                value = self._time_words(source["cast"], value)
            if not words or words.casefold() == value.casefold():
                continue
            spans = [found.span() for found in re.finditer(re.escape(words), text)]
            whole = len(words) >= _MIN_WORDS
            for span in spans if whole else [(source["start"], source["end"])]:
                places[span] = value
        if not places:
            return
        steps = respelled_steps(self._body, [(*span, value) for span, value in places.items()])
        lost = ", ".join(sorted({repr(value) for value in places.values()}))
        yield self._change(
            steps, f"the certified run needs {lost}; the instruction does not say it"
        )

    def _time_words(self, cast: str, moment: str) -> str:
        """Return the words for a time as gold reads it; as it is where there are none."""
        if cast == "date":
            return date_words(moment)
        days = days_between(self._task.world.now, moment)
        return next(iter(words_for(days, moment)), moment)

    def _sourced(self, body: dict[str, Any]) -> Iterator[tuple[dict[str, Any], Any]]:
        """Yield each plain provenance with the value that was certified for it."""
        for name, step in sorted(body["gold"].items()):
            call = self._certificate.gold_run.get(name)
            if call is None:
                continue
            for pointer, source in sorted(step["arguments"].items()):
                wanted = resolve_pointer(thaw(call.arguments), pointer, _MISSING)
                if wanted is not _MISSING:
                    yield source, wanted
        for field, source in sorted(body["answer"].items()):
            if field in self._certificate.gold_answer:
                yield source, thaw(self._certificate.gold_answer[field])

    def _argument(self, step: str, pointer: str) -> Iterator[Change]:
        call = self._certificate.gold_run.get(step)
        if call is None or step not in self._task.gold:
            return
        at = pointer_of("gold", step, "arguments", pointer)
        wanted = resolve_pointer(thaw(call.arguments), pointer, _MISSING)
        if wanted is _MISSING:
            yield self._change([("remove", at, None)], "the certified call does not give it")
            return
        old = self._body["gold"][step]["arguments"].get(pointer)
        sources = self._sources(wanted, step, old)
        for number, source in enumerate(sources):
            yield self._change([put(self._body, at, source)], f"the certified call gave {wanted!r}")
            if number == 0:
                yield from self._all_arguments()

    def _all_arguments(self) -> Iterator[Change]:
        """Every argument that does not come out as certified at once: one alone is no gold yet."""
        observed, steps = observed_by(self._task, self._certificate), []
        for name, step in sorted(self._task.gold.items()):
            call = self._certificate.gold_run.get(name)
            if call is None or (step.service, step.tool) != (call.service, call.tool):
                return
            earlier = {key: value for key, value in observed.items() if key < name}
            for pointer, source in sorted(step.arguments.items()):
                wanted = resolve_pointer(thaw(call.arguments), pointer, _MISSING)
                try:
                    found = derive_value(source, self._task.instruction, earlier, pointer)
                except ProvenanceError:
                    found = _MISSING
                if wanted is not _MISSING and thaw(found) != wanted:
                    at = pointer_of("gold", name, "arguments", pointer)
                    old = self._body["gold"][name]["arguments"][pointer]
                    steps.append(put(self._body, at, self._sources(wanted, name, old)[0]))
        if len(steps) > 1:
            yield self._change(steps, "every argument of gold as the certified calls gave it")

    def _answer_field(self, field: str) -> Iterator[Change]:
        at = pointer_of("answer", field)
        if field not in self._certificate.gold_answer:
            yield self._change([("remove", at, None)], "the certified answer does not give it")
            return
        wanted = thaw(self._certificate.gold_answer[field])
        for source in self._sources(wanted, None, self._body["answer"].get(field)):
            yield self._change(
                [put(self._body, at, source)], f"the certified answer gave {wanted!r}"
            )

    def _sources(self, wanted: Any, before: str | None, old: Any) -> list[dict[str, Any]]:
        """Return where a value can be had: the kind of source that is there now first, a
        constant last.
        """
        found: list[dict[str, Any]] = []
        observed = observed_by(self._task, self._certificate)
        for step in sorted(observed, reverse=True):
            if step == CLOCK or (before is not None and step >= before):
                continue
            for path, leaf in leaves(observed[step]):
                if type(leaf) is type(wanted) and leaf == wanted:
                    found.append({"kind": "observation", "step": step, "path": list(path)})
        text = text_of(wanted)
        start = self._task.instruction.find(text) if text else -1
        if start >= 0 and not isinstance(wanted, (list, dict)):
            cast = {bool: "boolean", int: "integer", float: "number"}.get(type(wanted), "string")
            found.append(
                {"kind": "instruction", "start": start, "end": start + len(text), "cast": cast}
            )
        for said in moments_said(self._task.instruction, self._task.world.now):
            if said.moment == wanted and not (said.is_relative and CLOCK not in observed):
                cast = "moment" if said.is_relative else "date"
                span = {"start": said.start, "end": said.end, "cast": cast}
                found.append({"kind": "instruction", **span})
        found.append({"kind": "default", "value": wanted})
        kind = old.get("kind") if isinstance(old, Mapping) else None
        step_now = old.get("step") if isinstance(old, Mapping) else None
        # A constant is what nobody could see: it comes last even where a constant is there now.
        return sorted(
            found,
            key=lambda item: (
                item["kind"] == "default",
                item["kind"] != kind,
                item.get("step") != step_now,
            ),
        )

    def _step(self, name: str) -> Iterator[Change]:
        at = pointer_of("gold", name)
        call = self._certificate.gold_run.get(name)
        if call is None:
            named = [key for key, item in self._task.demands.items() if item.step == name]
            steps: list[Operation] = [("remove", pointer_of("demands", key), None) for key in named]
            yield self._change(
                [*steps, ("remove", at, None)], f"the step {name} was never certified"
            )
            return
        arguments = {
            pointer_of(key): self._sources(value, name, None)[0]
            for key, value in thaw(call.arguments).items()
        }
        old = self._body["gold"].get(name, {})
        body = {"service": call.service, "tool": call.tool, "arguments": arguments}
        if old.get("tool") != call.tool or old.get("service") != call.service:
            steps = [put(self._body, at, {**body, "arguments": old.get("arguments") or arguments})]
            yield self._change(steps, f"the certified run has {call.service}.{call.tool} here")
        yield self._change([put(self._body, at, body)], f"the certified run has the step {name}")

    def _schema(self) -> Iterator[Change]:
        kinds = {
            bool: "boolean",
            int: "integer",
            float: "number",
            str: "string",
            list: "array",
            dict: "object",
        }
        properties = {
            field: {"type": kinds[type(value)]} if type(value) in kinds else {}
            for field, value in sorted(thaw(self._certificate.gold_answer).items())
        }
        schema = {
            "type": "object",
            "properties": properties,
            "required": sorted(properties),
            "additionalProperties": False,
        }
        yield self._change([("replace", "/answer_schema", schema)], "the certified answer must fit")

    def _row(self) -> Iterator[Change]:
        row = row_of_place(self._place)
        if row is None:
            return
        service, table, row_id = row
        key = f"{service}/{table}/{row_id}"
        at = pointer_of("world", "overrides", key)
        name = self._task.task_id
        if key in self._task.world.overrides:
            yield self._change([("remove", at, None)], f"{key} was certified without this override")
        for values in certified_rows(self._system, service, table, row_id, name):
            yield self._change([put(self._body, at, values)], f"the certified run shows {key} so")
        for values in mended_rows(self._system, service, table, row_id, name):
            yield self._change([put(self._body, at, values)], f"so {key} is the certified row")
        if key not in self._certificate.seed_rows:
            yield self._change(
                [put(self._body, at, None)], f"{key} was not there when it was certified"
            )

    def _services(self) -> Iterator[Change]:
        certified = {key.partition("/")[0] for key in self._certificate.seed_rows}
        needed = sorted({call.service for call in self._certificate.gold_run.values()})
        steps: list[Operation] = [
            ("replace", "/world/services", needed),
            ("replace", "/world/distractors", sorted(certified - set(needed))),
        ]
        yield self._change(steps, "the services of the certified world")

    def _change(self, operations: Sequence[Operation], reason: str) -> Change:
        return Change(
            artifact=self._artifact, operations=tuple(operations), reason=reason, place=self._place
        )


def respelled_steps(
    body: dict[str, Any], places: Iterable[tuple[int, int, str]]
) -> list[Operation]:
    """Return the operations that put texts at [start, end) of a task's instruction, spans moved
    along.
    """
    moved = thaw(body)
    for start, end, text in sorted(places, reverse=True):
        moved = _respelled(moved, start, end, text)
    return [("replace", "/instruction", moved["instruction"]), *_span_steps(body, moved)]


def _respelled(body: dict[str, Any], start: int, end: int, text: str) -> dict[str, Any]:
    """Return a task with [start, end) of its instruction replaced and every span moved along."""
    shift = len(text) - (end - start)

    def moved(node: Any) -> Any:
        if isinstance(node, dict):
            grown = {key: moved(item) for key, item in node.items()}
            for key in ("opening", "was_start", "was_end"):
                if isinstance(node.get(key), int) and node[key] >= end:
                    grown[key] = node[key] + shift
            if isinstance(node.get("start"), int) and isinstance(node.get("end"), int):
                if node["start"] >= end:
                    grown["start"] = node["start"] + shift
                if node["end"] >= end:
                    grown["end"] = node["end"] + shift
            return grown
        if isinstance(node, list):
            return [moved(item) for item in node]
        return node

    parts = ("demands", "referents", "gold", "answer", "clauses", "user")
    spans = {key: moved(body[key]) for key in parts if key in body}
    instruction = body["instruction"]
    return {**body, **spans, "instruction": instruction[:start] + text + instruction[end:]}


def _span_steps(old: Any, new: Any, at: str = "") -> list[Operation]:
    """Return the operations that move the spans of one body to those of its twin."""
    if isinstance(old, dict):
        steps: list[Operation] = []
        for key in sorted(old):
            if key != "instruction":
                steps += _span_steps(old[key], new[key], at + pointer_of(key))
        return steps
    if isinstance(old, list):
        return [
            step
            for index, (left, right) in enumerate(zip(old, new, strict=True))
            for step in _span_steps(left, right, f"{at}/{index}")
        ]
    return [] if old == new else [("replace", at, new)]
