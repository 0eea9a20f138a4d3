"""Labelled tools beside their servers, for fitting and for measuring.

Owns the reading of label and spec files, the match of a label to the tool it is about, and groups
of servers that are nearly the same, which must not be split between fitting and checking.
"""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from components.environment.reading.words import text_words
from components.environment.sources.listing import spec_from_listing
from components.environment.sources.names import service_name
from components.errors import SpecError
from components.records.spec import ServiceSpec

_SAME_TEXT = 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledTool:
    """One label and the tool it is about."""

    spec: ServiceSpec
    tool: str
    """Name of the tool in `spec`."""
    label: Mapping[str, Any]
    group: int
    """Servers of one group share tools; keep them on one side of a split."""


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Return the JSON objects of a JSONL file, gzip or plain.

    Raises:
        SpecError: the file is missing, or a line is no JSON object.
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise SpecError(f"{path}: cannot be read ({error.strerror}); give a JSONL file") from None
    if raw[:2] == b"\x1f\x8b":
        raw = gzip.decompress(raw)
    lines = []
    for number, line in enumerate(raw.decode("utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            item = json.loads(line)
        except ValueError:
            item = None
        if not isinstance(item, dict):
            raise SpecError(f"{path}:{number}: not a JSON object; write one object a line")
        lines.append(item)
    return lines


def labelled_tools(labels: Path, specs: Path) -> list[LabelledTool]:
    """Return the labelled tools that a server of the specs has, in the order of the labels.

    Raises:
        SpecError: a file is unusable, or no label finds its tool.
    """
    lines = read_lines(labels)
    servers = read_lines(specs)
    groups = _groups(servers)
    having: dict[tuple[str, str], list[int]] = defaultdict(list)
    for index, server in enumerate(servers):
        for tool in server["tools"]:
            having[server["server"], tool["name"]].append(index)
    made: dict[int, tuple[ServiceSpec, dict[str, str]]] = {}
    found = []
    for line in lines:
        places = having.get((line["server"], line["name"]))
        if not places:
            continue
        index = min(places, key=lambda place: (_difference(servers[place], line), place))
        if index not in made:
            made[index] = named_spec(servers[index]["server"], servers[index]["tools"])
        spec, names = made[index]
        if line["name"] in names:
            found.append(
                LabelledTool(
                    spec=spec, tool=names[line["name"]], label=line["label"], group=groups[index]
                )
            )
    if not found:
        raise SpecError(f"{labels}: no label names a tool of {specs}; check `server` and `name`")
    return found


def named_spec(
    server: str, tools: Sequence[Mapping[str, Any]]
) -> tuple[ServiceSpec, dict[str, str]]:
    """Return a server's spec, and the names of its tools there by the names it lists."""
    listed = list(dict.fromkeys(tool["name"] for tool in tools))
    spec = spec_from_listing(service_name(server), tools, title=server).spec
    if len(listed) != len(spec.tools):
        return spec, {name: name for name in listed if name in spec.tools}
    return spec, dict(zip(listed, spec.tools, strict=True))


def _difference(server: Mapping[str, Any], line: Mapping[str, Any]) -> int:
    """Return how far a server's tool of the label's name is from the labelled one."""
    tool = next(tool for tool in server["tools"] if tool["name"] == line["name"])
    text, wanted = (str(item.get("description") or "")[:200] for item in (tool, line))
    return 2 * int(tool.get("inputSchema") != line.get("inputSchema")) + int(text != wanted)


def _groups(servers: Sequence[Mapping[str, Any]]) -> list[int]:
    """Return the group of each server: same name, or a tool with nearly the same text."""
    leader = list(range(len(servers)))

    def lead(index: int) -> int:
        while leader[index] != index:
            index = leader[index]
        return index

    by_name: dict[str, list[int]] = defaultdict(list)
    by_tool: dict[tuple[str, tuple[str, ...]], list[tuple[int, frozenset[str]]]] = defaultdict(list)
    for index, server in enumerate(servers):
        by_name[server["server"]].append(index)
        for tool in server["tools"]:
            properties = (tool.get("inputSchema") or {}).get("properties") or {}
            key = (tool["name"].lower().replace("-", "_"), tuple(sorted(properties)))
            text = frozenset(text_words(tool.get("description") or ""))
            by_tool[key].append((index, text))
    for places in by_name.values():
        for one in places[1:]:
            leader[lead(one)] = lead(places[0])
    for entries in by_tool.values():
        for place, (one, text) in enumerate(entries):
            for other, other_text in entries[:place]:
                if len(text) > 3 and len(text & other_text) > _SAME_TEXT * len(text | other_text):
                    leader[lead(one)] = lead(other)
    return [lead(index) for index in range(len(servers))]
