"""Specs that recordings have taught: for each tool, what its real answers are like.

Owns what is learned. A listing's own output schema is never replaced; what was observed stands
beside it, marked as that. Of a tool that never succeeded one thing is learned: where all that were
seen of its server answer in prose, so does it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from components.environment.reading.read import read_spec
from components.environment.recorded.again import again_of
from components.environment.recorded.fields import with_fields, written_by
from components.environment.recorded.heard import Heard, Sequences, heard_sequences
from components.environment.recorded.sentences import field_of_texts, sentence_of
from components.environment.recorded.shapes import examples_in, joined_schema
from components.environment.recorded.values import Shown, named_values
from components.environment.sources.records import ServiceCard
from components.environment.sources.redaction import Redactor
from components.records.blueprint import FunctionalClass, Operation
from components.records.frozen import FrozenDict, canonical_json, freeze
from components.records.spec import Observed, ServiceSpec, ToolSpec

_LONGEST_SCHEMA = 20_000
_PROSE = {
    "type": "object",
    "properties": {"result": {"type": "string"}},
    "required": ["result"],
}
_MAKES = frozenset({Operation.CREATE, Operation.APPEND, Operation.LINK})
_TAKES = frozenset({Operation.DELETE, Operation.DETACH, Operation.UPDATE})
_MANNER = 3
"""Tools that answer in prose, and no other, before it is taken for their server's manner."""


def taught(
    spec: ServiceSpec, card: ServiceCard, sequences: Sequences, redactor: Redactor
) -> ServiceSpec:
    """Return a spec whose tools know what recordings show of them.

    Args:
        spec: as its source gives it.
        card: gives the names that the server has for its tools and parameters.
        sequences: recorded calls and answers of this server.
        redactor: removes the values that the server was started with.
    """
    heard = heard_sequences(sequences, card, redactor)
    readings = read_spec(spec)
    writers = frozenset(
        name for name, item in readings.items() if item.functional is FunctionalClass.WRITE
    )
    takers = frozenset(name for name, item in readings.items() if item.operation in _TAKES)
    makers = [tool for name, tool in spec.tools.items() if readings[name].operation in _MAKES]
    names = written_by(heard, writers)
    optional = frozenset(name for tool in makers for name in _optional(tool))
    tools = {
        name: _taught_tool(tool, heard, writers, takers, names, optional)
        for name, tool in spec.tools.items()
    }
    seen = [tool for tool in tools.values() if tool.observed is not None]
    if len(seen) >= _MANNER and all(_is_prose(tool) for tool in seen):
        tools = {
            name: tool if tool.output_schema is not None else _in_prose(tool)
            for name, tool in tools.items()
        }
    return spec.model_copy(update={"tools": FrozenDict(tools)})


def _is_prose(tool: ToolSpec) -> bool:
    observed, output = tool.observed, tool.output_schema
    if observed is None or output is None or not observed.has_schema:
        return False
    properties = output["properties"]
    return set(properties) == {"result"} and properties["result"].get("type") == "string"


def _in_prose(tool: ToolSpec) -> ToolSpec:
    observed = Observed(num_calls=0, has_schema=True)
    return tool.model_copy(update={"observed": observed, "output_schema": freeze(_PROSE)})


def untaught(spec: ServiceSpec, names: frozenset[str]) -> ServiceSpec:
    """Return a spec without what was learned of some of its tools."""
    tools = {name: _without(tool) if name in names else tool for name, tool in spec.tools.items()}
    return spec.model_copy(update={"tools": FrozenDict(tools)})


def _without(tool: ToolSpec) -> ToolSpec:
    if tool.observed is None:
        return tool
    listed = None if tool.observed.has_schema else tool.output_schema
    return tool.model_copy(update={"observed": None, "output_schema": listed})


def _taught_tool(
    tool: ToolSpec,
    sequences: Sequence[Sequence[Heard]],
    writers: frozenset[str],
    takers: frozenset[str],
    names: Mapping[str, str],
    optional: frozenset[str],
) -> ToolSpec:
    is_writer = tool.name in writers
    own = [call for calls in sequences for call in calls if call.tool == tool.name and call.is_ok]
    if not own:
        return tool
    required = tool.input_schema.get("required") or ()
    schema = None if tool.output_schema is not None else _schema(own)
    is_text = all(call.text is not None for call in own)
    observed = Observed(
        num_calls=len(own),
        has_schema=schema is not None,
        says=sentence_of(own, required) if is_text and is_writer else None,
        text_of="" if is_writer or not is_text else field_of_texts(sequences, tool.name),
        hides=() if is_writer else _hidden(tool.name, sequences, writers),
        echoes=FrozenDict(_echoes(own, required)),
        examples=FrozenDict(_examples(own)),
        again=FrozenDict(again_of(tool.name, sequences, writers, takers))
        if is_writer
        else FrozenDict(),
    )
    output = tool.output_schema
    if schema is not None:
        output = freeze(with_fields(schema, names, optional))
    return tool.model_copy(update={"observed": observed, "output_schema": output})


def _optional(tool: ToolSpec) -> frozenset[str]:
    properties = tool.input_schema.get("properties") or {}
    return frozenset(properties) - set(tool.input_schema.get("required") or ())


def _schema(calls: Sequence[Heard]) -> dict[str, Any] | None:
    """Return the schema of a tool's answers; None where they have none, or hold more than JSON."""
    if not all(call.is_whole for call in calls) or len({_is_object(call) for call in calls}) > 1:
        return None
    schema = joined_schema([call.data for call in calls])
    is_small = len(canonical_json(freeze(schema))) <= _LONGEST_SCHEMA
    return schema if schema.get("properties") and is_small else None


def _is_object(call: Heard) -> bool:
    return isinstance(call.body, Mapping)


def _echoes(calls: Sequence[Heard], required: Sequence[str]) -> dict[str, str]:
    """Return the properties of answers that always equal an argument which is always given."""
    found: dict[str, str] = {}
    names = {name for call in calls for name in call.data}
    for name in sorted(names):
        same = [
            argument
            for argument in required
            if all(_is_said_back(call, name, argument) for call in calls)
        ]
        if same:
            found[name] = name if name in same else same[0]
    return found


def _is_said_back(call: Heard, name: str, argument: str) -> bool:
    value = call.arguments.get(argument)
    is_scalar = isinstance(value, (str, int, float)) and not isinstance(value, bool)
    return is_scalar and name in call.data and call.data[name] == value


def _examples(calls: Sequence[Heard]) -> dict[str, tuple[Any, ...]]:
    """Return what each argument held, those in lists and objects by their own names."""
    values: dict[str, list[Any]] = {}
    for call in calls:
        _collect(call.arguments, values)
    found = {name: tuple(examples_in(held, name)) for name, held in sorted(values.items())}
    return {name: examples for name, examples in found.items() if examples}


def _collect(value: Any, values: dict[str, list[Any]]) -> None:
    if isinstance(value, Mapping):
        for name, item in value.items():
            if isinstance(item, (Mapping, list, tuple)):
                _collect(item, values)
            else:
                values.setdefault(name, []).append(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            _collect(item, values)


def _hidden(
    tool: str, sequences: Sequence[Sequence[Heard]], writers: frozenset[str]
) -> tuple[str, ...]:
    """Return the arguments of writes that a read of what they wrote never showed.

    A read is of what a call wrote where it names, or shows, another value of the same call.
    """
    shown: set[str] = set()
    absent: set[str] = set()
    for calls in sequences:
        written: list[dict[str, str]] = []
        for call in calls:
            if call.is_ok and call.tool in writers:
                written.append({value: at for at, value in named_values(call.arguments)})
            if call.tool != tool or not call.is_ok:
                continue
            answer = Shown(call.body)
            named = {value for _, value in named_values(call.arguments)}
            for values in written:
                seen = {value for value in values if value in answer}
                if not (seen or named & set(values)):
                    continue
                shown |= {values[value] for value in seen}
                absent |= {at for value, at in values.items() if value not in named | seen}
    return tuple(sorted({at.rpartition(".")[2] for at in absent - shown}))
