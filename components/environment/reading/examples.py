"""Tools that were made up, with their labels, for what few real labels show.

Owns the reading of `examples.json`: servers of invention, a line a tool,
`operation name | description | required; optional`. A parameter is `name`, then `!` if it picks an
existing record, then `:i`, `:n`, `:b`, `:a`, `:o` for a type other than string. They are only
fitted on, never measured on.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from components.environment.reading.labels import LabelledTool, named_spec
from components.environment.reading.read import functional_of
from components.errors import SpecError
from components.records.blueprint import Operation

EXAMPLES = Path(__file__).with_name("examples.json")
_TYPES = {"i": "integer", "n": "number", "b": "boolean", "a": "array", "o": "object"}
_EXTERNAL = {"read", "write", "process"}


def written_examples() -> list[LabelledTool]:
    """Return the examples; each server is a group of its own, counted from -1 downwards.

    Raises:
        SpecError: a line is not of the form above.
    """
    servers: dict[str, list[str]] = json.loads(EXAMPLES.read_text(encoding="utf-8"))
    found = []
    for number, (title, lines) in enumerate(servers.items(), start=1):
        tools = [read_line(line) for line in lines]
        spec, names = named_spec(title, tools)
        done: set[str] = set()
        for tool in tools:
            if tool["name"] in names and tool["name"] not in done:
                done.add(tool["name"])
                found.append(
                    LabelledTool(
                        spec=spec, tool=names[tool["name"]], label=tool["label"], group=-number
                    )
                )
    return found


def read_line(line: str) -> dict[str, Any]:
    """Return a line as a tool of `tools/list`, with its `label`.

    Example:
        >>> read_line("get get_user | Get a user | user_id!")["label"]["identifier"]
        ['user_id']

    Raises:
        SpecError: the line is not of the form above.
    """
    parts = [part.strip() for part in line.split("|")]
    head = parts[0].split()
    kind, _, functional = head[0].partition("/") if len(head) == 2 else ("", "", "")
    if kind not in set(Operation) or len(parts) != 3 or functional not in {"", *_EXTERNAL}:
        raise SpecError(
            f"{EXAMPLES.name}: {line!r} is no `operation name | description | required; optional`"
        )
    operation = Operation(kind)
    properties: dict[str, dict[str, Any]] = {}
    required, identifier = [], []
    needed, _, optional = parts[2].partition(";")
    for is_needed, chunk in ((True, needed), (False, optional)):
        for word in chunk.split():
            name, _, short = word.partition(":")
            picks = name.endswith("!")
            name = name.rstrip("!")
            properties[name] = {"type": _TYPES.get(short, "string")}
            if is_needed:
                required.append(name)
            if picks:
                identifier.append(name)
    return {
        "name": head[1],
        "description": parts[1],
        "inputSchema": {"type": "object", "properties": properties, "required": required},
        "label": {
            "operation": operation.value,
            "functional": functional or functional_of(operation).value,
            "identifier": identifier,
            "deterministic": operation is not Operation.EXTERNAL,
        },
    }
