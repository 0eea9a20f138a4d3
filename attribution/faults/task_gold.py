"""Kinds of fault of the task: its gold solution is not the solution of the instruction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from attribution.change import Change
from attribution.evidence import pointer_of
from attribution.faults.kinds import Clean, FaultKind
from attribution.faults.task_parts import Parts, Row, Used, parts_of, sibling_paths
from components.records.patch import Component
from components.records.task import FromInstruction, FromObservation
from components.task.provenance import at_path, leaves


def _missing_write(clean: Clean) -> Iterator[Change]:
    for parts in parts_of(clean):
        for step in parts.idle_writes():
            yield parts.change(
                [("remove", pointer_of("gold", step), None)],
                ("gold", step),
                f"gold lacks {_tool(parts, step)}, which the instruction demands",
            )


def _missing_read(clean: Clean) -> Iterator[Change]:
    for parts in parts_of(clean):
        needed = sorted({item.source.step for item in parts.used()} - set(parts.writes()))
        for step in reversed(needed):
            yield parts.change(
                [("remove", pointer_of("gold", step), None)],
                ("gold", step),
                f"gold lacks {_tool(parts, step)}, from which it takes values",
            )


def _row_arguments(parts: Parts, step: str) -> Iterator[tuple[Used, Row]]:
    """Yield the arguments of a step that are ids of rows."""
    for item in parts.used():
        row = parts.row_of(item.value)
        if item.step == step and row is not None:
            yield item, row


def _unasked_write(clean: Clean) -> Iterator[Change]:
    for parts in parts_of(clean):
        for step in parts.writes():
            for item, row in _row_arguments(parts, step):
                others = parts.alike(row)
                if not others:
                    continue
                body = parts.body["gold"][step]
                value = clean.rng.choice(others).row_id
                source = {"kind": "default", "value": value}
                body["arguments"] = {**body["arguments"], item.at[-1]: source}
                new = parts.new_step()
                yield parts.change(
                    [("add", pointer_of("gold", new), body)],
                    ("gold", new),
                    f"gold also calls {_tool(parts, step)} on {value}, which nobody asked for",
                )


def _repeated(clean: Clean) -> Iterator[Change]:
    for parts in parts_of(clean):
        for step in parts.writes():
            if any(change.before is None for change in parts.calls[step].changes):
                new = parts.new_step()
                yield parts.change(
                    [("add", pointer_of("gold", new), parts.body["gold"][step])],
                    ("gold", new),
                    f"gold calls {_tool(parts, step)} twice",
                )


def _circular(clean: Clean) -> Iterator[Change]:
    for parts in parts_of(clean):
        for item in parts.used():
            later = [
                other.step
                for other in parts.used()
                if other.source.step == item.step and other.step != "answer"
            ]
            if item.step != "answer" and later:
                yield parts.change(
                    [("replace", pointer_of(*item.at, "step"), later[0])],
                    item.at,
                    f"{item.step} waits for {later[0]}, which waits for {item.step}",
                )


def _stale_id(clean: Clean) -> Iterator[Change]:
    for parts in parts_of(clean):
        for item in parts.used():
            if item.step == "answer" or parts.row_of(item.value) is None:
                continue
            prefix, _, rest = item.value.rpartition("_")
            old = f"{prefix}_{rest[1:]}{rest[:1]}" if prefix else f"{rest}x"
            if old != item.value and parts.row_of(old) is None:
                yield _fixed(parts, item, old, "an id that no row has any more")


def _fixed_row(clean: Clean) -> Iterator[Change]:
    for parts in parts_of(clean):
        for step in parts.writes():
            for item, row in _row_arguments(parts, step):
                others = parts.alike(row)
                if others:
                    value = clean.rng.choice(others).row_id
                    yield _fixed(parts, item, value, "always the same row")


def _fixed(parts: Parts, item: Used, value: Any, what: str) -> Change:
    return parts.change(
        [("replace", pointer_of(*item.at), {"kind": "default", "value": value})],
        item.at,
        f"gold takes {value!r}, {what}, where the answer of {item.source.step} gives it",
    )


def _wrong_source(clean: Clean) -> Iterator[Change]:
    for parts in parts_of(clean):
        for item in parts.used():
            if item.step != "answer":
                for path, _value in sibling_paths(item)[:2]:
                    yield _moved(parts, item, item.source.step, path)


def _stale_source(clean: Clean) -> Iterator[Change]:
    for parts in parts_of(clean):
        for item in parts.used():
            earlier = parts.task.gold[item.source.step].revisit_of
            if earlier is None or earlier not in parts.calls:
                continue
            for path, value in leaves(parts.calls[earlier].envelope.get("data")):
                if path[-1:] == item.source.path[-1:] and value != item.value:
                    yield _moved(parts, item, earlier, path)
                    break


def _list_place(clean: Clean) -> Iterator[Change]:
    for parts in parts_of(clean):
        for item in parts.used():
            path = list(item.source.path)
            numbers = [at for at, part in enumerate(path) if isinstance(part, int)]
            if numbers:
                at = numbers[-1]
                path[at] = int(path[at]) + 1
                yield _moved(parts, item, item.source.step, tuple(path))


def _moved(parts: Parts, item: Used, step: str, path: tuple[str | int, ...]) -> Change:
    source = parts.body
    for key in item.at:
        source = source[key]
    shown = "/".join(map(str, path))
    return parts.change(
        [("replace", pointer_of(*item.at), {**source, "step": step, "path": list(path)})],
        item.at,
        f"gold takes a value from {shown} of {step}",
    )


def _picked_by(clean: Clean) -> Iterator[Change]:
    for parts in parts_of(clean):
        for name, step in sorted(parts.task.gold.items()):
            for pointer, source in sorted(step.arguments.items()):
                if not isinstance(source, FromObservation) or source.pick is None:
                    continue
                at = ("gold", name, "arguments", pointer, "pick", "by")
                data = parts.calls[source.step].envelope.get("data")
                _found, rows = at_path(data, source.path)
                for field in sorted({key for row in rows or () for key in row}):
                    pick = source.pick.model_copy(update={"by": field})
                    index = pick.index_in(rows)
                    if index is not None and index != source.pick.index_in(rows):
                        yield parts.change(
                            [("replace", pointer_of(*at), field)],
                            at,
                            f"gold picks the row by {field}, not by {source.pick.by}",
                        )


def _shifted_span(clean: Clean) -> Iterator[Change]:
    for parts in parts_of(clean):
        for item in parts.given():
            at = ("gold", item.step, "arguments", item.pointer)
            shift = clean.rng.choice((-1, 1))
            if len(item.text) > 1 and item.start:
                yield parts.change(
                    [
                        ("replace", pointer_of(*at, "start"), item.start + shift),
                        ("replace", pointer_of(*at, "end"), item.end + shift),
                    ],
                    at,
                    f"gold's span of {item.text!r} is one character off",
                )


def _wrong_tool(clean: Clean) -> Iterator[Change]:
    for parts in parts_of(clean):
        for step in sorted(parts.task.gold, key=lambda name: name not in parts.writes()):
            body = parts.task.gold[step]
            names = {pointer.split("/")[1] for pointer in body.arguments}
            blueprint = parts.system.environment.blueprints[body.service]
            others = []
            for tool, spec in sorted(parts.system.reference.specs[body.service].tools.items()):
                known = spec.input_schema
                is_offered = tool in blueprint.tools and tool not in blueprint.quarantined
                takes = set(known.get("properties") or ())
                if tool == body.tool or not is_offered or not names <= takes:
                    continue
                if set(known.get("required") or ()) <= names:
                    others.append(tool)
            clean.rng.shuffle(others)
            for tool in others[:2]:
                yield parts.change(
                    [("replace", pointer_of("gold", step, "tool"), tool)],
                    ("gold", step, "tool"),
                    f"gold calls {tool} where {body.tool} is meant",
                )


def _unasked_argument(clean: Clean) -> Iterator[Change]:
    for parts in parts_of(clean):
        for step in sorted(parts.task.gold, key=lambda name: name not in parts.writes()):
            body = parts.task.gold[step]
            given = {pointer.split("/")[1] for pointer in body.arguments}
            for name, schema in sorted(parts.schema(body).items()):
                value = _filler(schema)
                if name in given or value is None:
                    continue
                at = ("gold", step, "arguments", f"/{name}")
                yield parts.change(
                    [("add", pointer_of(*at), {"kind": "default", "value": value})],
                    at,
                    f"gold gives {name} {value!r}, which nobody asked for",
                )


def _filler(schema: Any) -> Any:
    """Return a value that fits a schema; None where no plain one does."""
    if not isinstance(schema, Mapping):
        return None
    choices = [item for item in schema.get("enum") or () if item is not None]
    if choices:
        return choices[-1]
    return {"boolean": True, "integer": 3, "number": 3, "string": "as before"}.get(
        str(schema.get("type"))
    )


def _wrong_given(clean: Clean) -> Iterator[Change]:
    for parts in parts_of(clean):
        given = parts.given()
        for item in given:
            for other in given:
                if other.text != item.text:
                    at = ("gold", item.step, "arguments", item.pointer)
                    source = FromInstruction(start=other.start, end=other.end, cast="string")
                    yield parts.change(
                        [("replace", pointer_of(*at), source.model_dump(mode="json"))],
                        at,
                        f"gold takes {other.text!r} where the instruction gives {item.text!r}",
                    )


def _tool(parts: Parts, step: str) -> str:
    return f"{parts.task.gold[step].service}.{parts.task.gold[step].tool}"


def _kind(name: str, statement: str, places: Any) -> FaultKind:
    return FaultKind(name=name, component=Component.TASK, statement=statement, places=places)


KINDS: tuple[FaultKind, ...] = (
    _kind("missing_write", "Gold lacks a write that the instruction demands.", _missing_write),
    _kind("missing_read", "Gold lacks a read whose answer it needs.", _missing_read),
    _kind("unasked_write", "Gold makes a write that nobody asked for.", _unasked_write),
    _kind("repeated_write", "Gold makes the same write twice.", _repeated),
    _kind("circular_source", "Two steps of gold each wait for the other.", _circular),
    _kind("stale_id", "Gold holds a fixed id that no row has any more.", _stale_id),
    _kind("fixed_row", "Gold writes to a fixed row that is not the one meant.", _fixed_row),
    _kind("wrong_source", "Gold takes an argument from the wrong field.", _wrong_source),
    _kind("stale_source", "Gold takes the first reading where the second counts.", _stale_source),
    _kind("wrong_list_place", "Gold takes a value from the next row of a list.", _list_place),
    _kind("picked_by_other", "Gold picks a row of a list by another field.", _picked_by),
    _kind("shifted_span", "Gold reads the instruction one character off.", _shifted_span),
    _kind("wrong_given", "Gold takes one value of the instruction for another.", _wrong_given),
    _kind("wrong_tool", "Gold calls another tool than the one that does it.", _wrong_tool),
    _kind("unasked_argument", "Gold gives an argument that nobody spoke of.", _unasked_argument),
)
