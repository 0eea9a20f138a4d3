"""Columns that a description tells of: `details including name, star rating and price`.

Owns the reading of such lists. Few descriptions have one; where one stands, it is the only thing
that a specification says of its answers.
"""

from __future__ import annotations

import re

from components.environment.archetypes.field_meaning import UNKNOWN_TEXT, meaning_of
from components.environment.archetypes.find import archetype_of
from components.environment.archetypes.meanings import Kind, parse_meaning
from components.environment.archetypes.records import Found
from components.environment.compiler.inputs import Tool, style_of, styled, words_of
from components.environment.compiler.table import Column, Table
from components.environment.names import singular, snake, tokens
from components.environment.params import is_storable
from components.environment.reading.records import Role
from components.records.blueprint import FieldBlueprint, FieldType, Operation

_LISTS = re.compile(
    r"\b(?:including|includes?|containing|contains|consisting of|"
    r"(?:with|returns?)(?: \w+){0,2} (?:fields|columns|details|information|data|metadata)"
    r"(?: (?:such as|like|of))?)\s*:?\s+([^.;:\n(]{8,200})",
    re.IGNORECASE,
)
_RETURNED = re.compile(
    r"\b(?:returns?|returning|provides?|shows?|with|gives?)\s+"
    r"((?:[\w/-]+(?: [\w/-]+){0,3},\s+)+(?:and )?[\w/-]+(?: [\w/-]+){0,2}"
    r"(?:,? and [\w /-]{3,30})?)",
    re.IGNORECASE,
)
_SECTION = re.compile(
    r"(?im)^(.*\b(?:returns?|returning|containing|contains|including|fields|with|keys)\b"
    r"[^\n]*:)[ \t]*\n"
    r"((?:[ \t]*(?:[-*\u2022][ \t]+)[^\n]*\n?|[ \t]*\n)+)"
)
_OF_ROWS = re.compile(r"(?i)\b(?:lists?|arrays?|each|every|objects|items|fields|properties)\b")
_BULLET = re.compile(
    r"(?m)^([ \t]*)[-*\u2022][ \t]+[`'\"*]*([A-Za-z]\w*)[`'\"*]*(?: ?\([^)\n]*\))?"
    r"[ \t]*[:\u2013-][ \t]*(.*)$"
)
_FLAGGED = re.compile(r"(?i)^\W*(?:bool(?:ean)?\b|true\b|whether\b|flag\b)")
_COUNTED = re.compile(r"(?i)^\W*(?:int(?:eger)?\b|(?:total )?(?:number|count) of\b|total count\b)")
_BETWEEN = re.compile(r",\s*(?:and\s+|or\s+)?|\s+and\s+|\s+or\s+")
_LEAST, _LEAST_BARE, _MOST, _MOST_LISTED, _WORDS = 2, 3, 8, 16, 3
_NUMBERS = (FieldType.INTEGER, FieldType.NUMBER)
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
    for match in _RETURNED.finditer(description):
        # A bare list may tell of anything; one in which nearly every word is that of a field does
        # not.
        names = [_name(part) for part in _BETWEEN.split(match.group(1))]
        known = [name for name in names if name and told_meaning(name)]
        if len(known) >= _LEAST_BARE and len(known) * 4 >= len(names) * 3:
            found.update(dict.fromkeys(known))
    return tuple(found)[:_MOST]


def _name(part: str) -> str:
    words = list(tokens(part))
    while words and words[0] in words_of("before_field"):
        words = words[1:]
    is_field = 0 < len(words) <= _WORDS and words_of("no_field").isdisjoint(words)
    return "_".join(words) if is_field and part.replace("/", " ").isascii() else ""


def listed_fields(description: str, *, is_many: bool = False) -> dict[str, str]:
    """Return the fields that a description lists line by line, in snake_case, and what it says of
    each.

    Args:
        description: of a tool.
        is_many: its answer is a list: only what is said of its items is taken.

    Example:
        >>> listed_fields("Returns an app with:\\n- icon: Image URL\\n- isFree: Boolean")
        {'icon': 'Image URL', 'is_free': 'Boolean'}
    """
    found: dict[str, str] = {}
    for section in _SECTION.finditer(description):
        if is_many and not _OF_ROWS.search(section.group(1)):
            continue
        bullets = _BULLET.findall(section.group(2))
        least = min((len(indent) for indent, _, _ in bullets), default=0)
        for indent, name, said in bullets:
            if len(indent) == least and words_of("no_field").isdisjoint(tokens(name)):
                found.setdefault(snake(name), said.strip())
    return dict(list(found.items())[:_MOST_LISTED]) if len(found) >= _LEAST else {}


def told_meaning(word: str, said: str = "") -> str | None:
    """Return what a field means that has nothing but its name, or None where that says nothing:
    such a field is better left out than filled with anything.

    Args:
        word: its name in snake_case.
        said: what a description says of it.

    Example:
        >>> told_meaning("reviews"), told_meaning("star_rating"), told_meaning("good_for_bar")
        ('list:title:review', 'rating', None)
    """
    first = word.partition("_")[0]
    if _FLAGGED.match(said) or first in ("is", "has"):
        return "flag"
    meaning = meaning_of(word, "string", {"description": said})
    if meaning != UNKNOWN_TEXT:
        return meaning
    if _COUNTED.match(said) or first in ("num", "total"):
        return "count.medium"
    one = singular(word)
    if one == word:
        return None
    meaning = meaning_of(one, "string")
    if meaning != UNKNOWN_TEXT:
        parsed = parse_meaning(meaning)
        is_number = parsed.kind in (Kind.NUMBER, Kind.ORDER) or parsed.type in _NUMBERS
        return meaning if is_number else f"list:{meaning}"
    is_kind = archetype_of(one).found in (Found.DIRECT, Found.ALIAS)
    return f"list:title:{one}" if is_kind else None


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
        is_many = tool.reading.operation is not Operation.GET
        said = listed_fields(tool.spec.description, is_many=is_many)
        for word in (*said, *told_fields(tool.spec.description), *aspect_of(tool)):
            if table.find(word) is not None or word == "id" or not is_storable(word):
                continue
            meaning = told_meaning(word, said.get(word, ""))
            if meaning is None:
                continue
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
