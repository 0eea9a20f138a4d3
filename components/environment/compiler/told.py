"""Columns that a description tells of: `details including name, star rating and price`.

Owns the reading of such lists. Few descriptions have one; where one stands, it is the only thing
that a specification says of its answers.
"""

from __future__ import annotations

import re

from components.environment.archetypes.field_meaning import UNKNOWN_TEXT, meaning_of
from components.environment.archetypes.meanings import parse_meaning
from components.environment.compiler.inputs import Tool, style_of, styled, words_of
from components.environment.compiler.table import Column, Table
from components.environment.names import singular, tokens
from components.environment.reading.records import Role
from components.records.blueprint import FieldBlueprint, FieldType, Operation

_LISTS = re.compile(
    r"\b(?:including|includes?|containing|contains|consisting of|"
    r"(?:with|returns?)(?: \w+){0,2} (?:fields|columns|details|information|data|metadata)"
    r"(?: (?:such as|like|of))?)\s*:?\s+([^.;:\n(]{8,200})",
    re.IGNORECASE,
)
_BETWEEN = re.compile(r",\s*(?:and\s+|or\s+)?|\s+and\s+|\s+or\s+")
_LEAST, _MOST, _WORDS = 2, 8, 3
_READS = frozenset({Operation.GET, Operation.LIST, Operation.SEARCH})


def told_fields(description: str) -> tuple[str, ...]:
    """Return the fields that a description lists, in snake_case.

    Example:
        >>> told_fields("Get a hotel, including its name, star rating and price range.")
        ('name', 'star_rating', 'price_range')
    """
    found: dict[str, None] = {}
    for match in _LISTS.finditer(description):
        names = [_name(part) for part in _BETWEEN.split(match.group(1))]
        known = [name for name in names if name]
        if len(known) >= _LEAST and len(known) * 2 > len(names):
            found.update(dict.fromkeys(known))
    return tuple(found)[:_MOST]


def _name(part: str) -> str:
    words = list(tokens(part))
    while words and words[0] in words_of("before_field"):
        words = words[1:]
    is_field = 0 < len(words) <= _WORDS and words_of("no_field").isdisjoint(words)
    return "_".join(words) if is_field and part.replace("/", " ").isascii() else ""


def aspect_of(tool: Tool) -> tuple[str, ...]:
    """Return what a get shows of its record by its own name: `readme` of `get_package_readme`."""
    if tool.reading.operation is not Operation.GET or not tool.of(Role.IDENTIFIER, Role.PARENT):
        return ()
    last = (tool.reading.entity or "").rpartition("_")[2]
    parts = tokens(tool.name)
    places = [place for place, word in enumerate(parts) if singular(word) == last]
    rest = parts[places[-1] + 1 :] if places else ()
    cut = next((n for n, word in enumerate(rest) if word in words_of("no_aspect")), len(rest))
    return ("_".join(rest[:cut]),) if 0 < cut <= _WORDS else ()


def add_told_columns(tools: list[Tool], tables: dict[str, Table]) -> None:
    """Give each table the columns that the descriptions of its reads list."""
    for tool in sorted(tools, key=lambda tool: tool.name):
        table = tables.get(tool.reading.entity or "")
        if table is None or tool.reading.operation not in _READS:
            continue
        style = style_of(tuple(table.columns))
        for word in (*told_fields(tool.spec.description), *aspect_of(tool)):
            if table.find(word) is not None or word == "id":
                continue
            meaning = meaning_of(word, "string")
            meaning = "sentence" if meaning == UNKNOWN_TEXT else meaning
            kind = parse_meaning(meaning).type
            name = styled(word, style)
            table.columns[name] = Column(
                name=name,
                body=FieldBlueprint(
                    type=FieldType.STRING if kind is FieldType.TIMESTAMP else kind,
                    nullable=True,
                    required=False,
                ),
                meaning=meaning,
                source=f"told by {tool.name}",
            )
