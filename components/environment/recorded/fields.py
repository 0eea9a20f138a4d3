"""Properties of answers and the arguments that write them, where the two are called differently.

Owns that match, by values, and what of a likeness may be null.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from components.environment.params import WRITTEN_BY
from components.environment.recorded.heard import Heard
from components.environment.recorded.values import named_values

_LEAST = 2
"""Values that must agree before a property is taken for an argument of another name."""


def written_by(sequences: Sequence[Sequence[Heard]], writers: frozenset[str]) -> dict[str, str]:
    """Return property -> argument of writes whose values it always shows.

    Args:
        sequences: recorded calls.
        writers: tools that change state.
    """
    written: dict[str, set[str]] = {}
    arguments: set[str] = set()
    shown: list[tuple[str, str]] = []
    for number, calls in enumerate(sequences):
        for call in (call for call in calls if call.is_ok):
            if call.tool in writers:
                for place, value in named_values(call.arguments):
                    name = place.rpartition(".")[2]
                    written.setdefault(f"{number}:{value}", set()).add(name)
                    arguments.add(name)
            shown += [(name, f"{number}:{value}") for name, value in _texts(call.body)]
    counts: dict[str, int] = {}
    found: dict[str, set[str]] = {}
    for name, value in shown:
        known = written.get(value, set())
        counts[name] = counts.get(name, 0) + 1
        found[name] = found.get(name, known) & known
    return {
        name: min(names)
        for name, names in sorted(found.items())
        if names and name not in arguments and counts[name] >= _LEAST
    }


def _texts(value: Any) -> Iterator[tuple[str, str]]:
    """Yield name and value of each text property of records, at any depth."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            if isinstance(item, str):
                yield from ((name, text) for _, text in named_values(item))
            else:
                yield from _texts(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _texts(item)


def with_fields(schema: Any, names: Mapping[str, str], optional: frozenset[str]) -> Any:
    """Return an observed schema whose properties say which argument writes them, and may be null
    where the caller may leave that out.

    Args:
        schema: as `joined_schema` makes it.
        names: property -> argument, where they differ.
        optional: arguments that may be left out of a write.
    """
    if not isinstance(schema, Mapping):
        return schema
    found = dict(schema)
    if "items" in schema:
        found["items"] = with_fields(schema["items"], names, optional)
    if "properties" in schema:
        found["properties"] = {
            name: _field(name, with_fields(part, names, optional), names, optional)
            for name, part in schema["properties"].items()
        }
    return found


def _field(
    name: str, schema: dict[str, Any], names: Mapping[str, str], optional: frozenset[str]
) -> dict[str, Any]:
    kind = schema.get("type")
    if names.get(name, name) in optional and isinstance(kind, str):
        schema = {**schema, "type": [kind, "null"]}
    return {**schema, WRITTEN_BY: names[name]} if name in names else schema
