"""What a tool's name, description and schema promise, read without any compiler.

Owns a plain second reading of a spec, over a lexicon of its own (`words.json`). It promises only
what the words say outright: where name and description disagree, or a word has two meanings, it
promises nothing. It never sees a blueprint.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from components.environment.names import singular, snake, tokens
from components.records.spec import ServiceSpec, ToolSpec

_TOLD = 400
"""Characters of a description that are read."""
_WORD = re.compile(r"[A-Za-z][A-Za-z']*")
_SENTENCE = re.compile(r"[.!?:](?=\s|$)|\n\s*\n|\n\s*(?=[A-Z][a-z]+:)")
_LEAD = re.compile(r"^\s*(?:\[[^\]]*\]|\([^)]*\)|\W)*", re.ASCII)
_BESIDE = re.compile(r"\s*[A-Za-z]+ \(([A-Za-z]+)\) ")
_MANY_TOOLS = 8
"""Tools of a server whose words say enough of who calls."""
_MOST = 0.75
"""Share of the tools that must be told who calls."""
GATE = "documentation"
"""Name of the gate that promises belong to."""


class Family(StrEnum):
    """What kind of thing a tool says that it does."""

    READ = "read"
    LIST = "list"
    SEARCH = "search"
    MAKE = "make"
    ADD = "add"
    DELETE = "delete"
    REMOVE = "remove"
    CHANGE = "change"
    MOVE = "move"
    """Gives a record another state or place."""
    PUT = "put"
    """Sets or stores something, new or not; nothing goes."""
    WRITE = "write"
    """Changes something; the words do not say what becomes of the record."""
    UNSAID = "unsaid"


READS = frozenset({Family.READ, Family.LIST, Family.SEARCH})
WRITES = frozenset(
    {
        Family.MAKE,
        Family.ADD,
        Family.DELETE,
        Family.REMOVE,
        Family.CHANGE,
        Family.MOVE,
        Family.PUT,
        Family.WRITE,
    }
)


@cache
def _lexicon() -> Mapping[str, Any]:
    text = Path(__file__).with_name("words.json").read_text(encoding="utf-8")
    found: Mapping[str, Any] = json.loads(text)
    return found


@cache
def words(kind: str) -> frozenset[str]:
    """Return one word list of the gates' lexicon."""
    return frozenset(_lexicon()[kind].split())


@cache
def _families() -> Mapping[str, Family]:
    return {
        word: Family(family)
        for family, text in _lexicon()["verbs"].items()
        for word in text.split()
    }


def samples(word: str) -> tuple[str, ...]:
    """Return values that a parameter of this name, or one that ends so, surely takes."""
    found: Mapping[str, list[str]] = _lexicon()["samples"]
    return tuple(found.get(word, found.get(word.rpartition("_")[2], ())))


def samples_of(tool: str) -> tuple[Any, ...]:
    """Return values that the arguments of a tool with such words in its name surely take."""
    spoken = set(tokens(tool))
    found: Mapping[str, list[Any]] = _lexicon()["samples_of_tools"]
    return tuple(
        value for said, own in found.items() if spoken.issuperset(said.split()) for value in own
    )


def statements(text: str) -> dict[str, list[str]]:
    """Return kinds of SQL statements that a text speaks of, each with some that surely run."""
    found: Mapping[str, list[str]] = _lexicon()["statements"]
    return {kind: some for kind, some in found.items() if "sql" in text and kind in text}


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """What one tool promises."""

    tool: str
    family: Family
    nouns: tuple[str, ...] = ()
    """Singular words of the thing that it is about, the head last; empty when no word says it."""
    is_many: bool = False
    """The name speaks of several."""
    is_one: bool = False
    """Name and description speak of one record."""
    is_plain: bool = False
    """Verb and noun stand in its name, and there is a description."""
    is_mixed: bool = False
    """Words such as `or` say that it may do more than one thing."""
    keys: tuple[str, ...] = ()
    """Required parameters that name the record it acts on."""
    named: frozenset[str] = frozenset()
    """Singular words of the name."""
    object: tuple[str, ...] = ()
    """Singular words of what the description's verb acts on."""
    sentence: frozenset[str] = frozenset()
    """Singular words of the description's first sentence."""
    spoken: frozenset[str] = frozenset()
    """Singular words of name, description and parameters."""
    dependent: tuple[str, ...] = ()
    """Required parameters that a read's answer must depend on."""
    callers: frozenset[str] = frozenset()
    """Parameters that say who calls, and so nothing of a record."""

    @property
    def head(self) -> str:
        """Head noun, or an empty text."""
        return self.nouns[-1] if self.nouns else ""


def read_promises(spec: ServiceSpec) -> dict[str, Promise]:
    """Return what each tool of a spec promises, by tool."""
    prefix = _common_prefix(spec)
    callers = callers_of(spec)
    return {name: read_promise(tool, prefix, callers) for name, tool in sorted(spec.tools.items())}


def callers_of(spec: ServiceSpec) -> frozenset[str]:
    """Return the parameters that say who calls: a person that most of many tools must be told."""
    needed = Counter(
        name for tool in spec.tools.values() for name in tool.input_schema.get("required") or ()
    )
    most = max(_MANY_TOOLS, len(spec.tools)) * _MOST
    return frozenset(
        name
        for name, count in needed.items()
        if count >= most and snake(name).rpartition("_")[2] in words("caller_words")
    )


def _common_prefix(spec: ServiceSpec) -> str:
    """Return the word that most names begin with and that is no verb, or an empty text."""
    firsts = Counter(parts[0] for name in spec.tools if len(parts := tokens(name)) > 1)
    if not firsts:
        return ""
    word, count = firsts.most_common(1)[0]
    is_common = count >= 3 and count >= 0.8 * len(spec.tools)
    return word if is_common and word not in _families() else ""


def read_promise(
    tool: ToolSpec, prefix: str = "", callers: frozenset[str] = frozenset()
) -> Promise:
    """Return what one tool promises.

    Args:
        tool: the tool.
        prefix: a first word that only names the server.
        callers: parameters that say who calls.
    """
    verb, phrase, is_first = _named(tool.name, prefix)
    told, object_, sentence = _told(tool.description)
    family = _settled(verb, told, is_first=is_first)
    other = _beside(tool.description)
    if {family, other} <= WRITES and other is not family:
        family = Family.WRITE  # `archive (delete)` may be either
    if set(sentence) & words("numbers"):
        family = Family.UNSAID  # it adds numbers, not records
    is_many, is_told_many = _is_plural(phrase), _is_plural(object_)
    if family is Family.READ and is_many and is_told_many:
        family = Family.LIST
    head = phrase[-1] if phrase else ""
    several = {*sentence[:8], *tokens(tool.name)} & words("many_words")
    is_plain = family is Family.READ and (told in READS or not tool.description)
    is_single = is_plain and bool(head) and not is_many and not is_told_many
    is_searched = any(
        snake(name) in words("query_words") for name in tool.input_schema.get("properties") or {}
    )
    is_one = is_single and told in READS and not (several or is_searched)
    is_one = is_one and head not in words("aspects")
    thing = _thing(sentence) if told is not Family.UNSAID else []
    nouns = _core(phrase) or thing
    spoken = {singular(part) for part in tokens(tool.name)}
    spoken |= {singular(word.lower()) for word in _WORD.findall(tool.description[:1500])}
    properties = tool.input_schema.get("properties") or {}
    spoken |= {singular(part) for name in properties for part in tokens(name)}
    marks = set(tokens(tool.name)) | set(sentence[:8])
    return Promise(
        tool=tool.name,
        family=family,
        nouns=tuple(singular(word) for word in nouns),
        is_many=is_many,
        is_one=is_one,
        is_plain=bool(phrase) and bool(sentence) and family is not Family.SEARCH,
        is_mixed=bool(marks & words("mixed_marks")),
        keys=_keys(tool, family, nouns, callers, is_one=is_single and not several)
        if is_single or family in WRITES
        else (),
        named=frozenset(singular(part) for part in tokens(tool.name)),
        object=tuple(singular(word) for word in thing),
        sentence=frozenset(singular(word) for word in sentence),
        spoken=frozenset(spoken),
        dependent=() if family in WRITES else _dependent(tool, callers),
        callers=callers,
    )


def may_meet_what_is_there(tool: ToolSpec) -> bool:
    """True where a tool's words, or its hints, say that it takes a row that is there already for
    its own: `create or update`, `overwrite`, a second call without further effect.
    """
    if tool.observed is not None and tool.observed.again:
        return not set(tool.observed.again.values()) <= {"refuse"}  # it was seen to
    told = [word.lower() for word in _WORD.findall(tool.description[:_TOLD])]
    said = [*tokens(tool.name), *told]
    pairs = pairwise(said)
    is_or = any(a in ("or", "completely") and b in words("or_changing") for a, b in pairs)
    is_met = "already" in told and bool({"updated", "replaced", "overwritten"} & set(told))
    is_again = tool.annotations.get("idempotentHint") is True
    flags = {snake(name) for name in tool.input_schema.get("properties") or {}}
    is_asked = any(set(flag.split("_")) & words("replacing") for flag in flags)
    return is_again or is_or or is_met or is_asked or bool(words("replacing") & set(said))


def _thing(sentence: list[str]) -> list[str]:
    """Return the words of the first thing that a sentence speaks of behind its verb."""
    rest = sentence[1:]
    for _ in range(3):
        found = _core(_phrase(rest))
        if found or not rest:
            return found
        places = [place for place, word in enumerate(rest) if word in words("prepositions")]
        rest = rest[places[0] + 1 :] if places else []
    return []


def _dependent(tool: ToolSpec, callers: frozenset[str]) -> tuple[str, ...]:
    """Return the required parameters that say what is read: no page, no format, no secret."""
    properties = tool.input_schema.get("properties") or {}
    return tuple(
        name
        for name in tool.input_schema.get("required") or ()
        if scalar_kind(properties.get(name))
        and name not in callers
        and not set(tokens(name)) & (words("free") | words("hidden") | words("no_keys"))
    )


def _is_plural(phrase: list[str]) -> bool:
    """True where the last word of a phrase is a plural that is more than an aspect of one thing."""
    last = phrase[-1] if phrase else ""
    return singular(last) != last and last not in words("aspects") | words("collective")


def _named(name: str, prefix: str) -> tuple[Family, list[str], bool]:
    """Return the family of a name's verb, its noun phrase, and whether the verb stands first."""
    parts = list(tokens(name))
    if len(parts) > 1 and parts[0] == prefix:
        parts = parts[1:]
    families = _families()
    if parts and parts[0] in families:
        return families[parts[0]], _phrase(parts[1:]), True
    if len(parts) > 1 and parts[-1] in words("trailing_verbs"):
        return families[parts[-1]], _phrase(parts[:-1]), False
    if len(parts) > 2 and parts[1] in words("trailing_verbs"):
        return families[parts[1]], _phrase([*parts[2:]]), False
    return Family.UNSAID, [], False


def _phrase(parts: Iterable[str]) -> list[str]:
    """Return the words up to the first preposition, without articles."""
    found: list[str] = []
    for word in parts:
        if word in words("prepositions"):
            break
        if word not in words("articles"):
            found.append(word)
    return found


def _told(description: str) -> tuple[Family, list[str], list[str]]:
    """Return the family of a description's first verb, its object, and the first sentence."""
    first = _SENTENCE.split(_LEAD.sub("", description[:400]), maxsplit=1)[0]
    found = [word.lower() for word in _WORD.findall(first)]
    while found and found[0] in words("openings"):
        found = found[1:]
    if not found:
        return Family.UNSAID, [], []
    family = _family_of(found[0])
    if family in READS and any(_family_of(word) in WRITES for word in _listed(found)):
        family = Family.UNSAID  # it reads and it writes
    return family, _phrase(found[1:]) if family is not Family.UNSAID else [], found


def _beside(description: str) -> Family:
    """Return the family of a verb in brackets behind the first (`Archive (delete) a note`)."""
    found = _BESIDE.match(description)
    return _family_of(found.group(1).lower()) if found else Family.UNSAID


def _family_of(verb: str) -> Family:
    families = _families()
    stems = (verb, verb[:-1], verb[:-2], f"{verb[:-3]}y") if verb.endswith("s") else (verb,)
    return next((families[stem] for stem in stems if stem in families), Family.UNSAID)


def _listed(sentence: list[str]) -> list[str]:
    """Return the words that may be further verbs beside the first (`view, create and edit`)."""
    return sentence[1:2] + [word for before, word in pairwise(sentence[1:7]) if before == "and"]


def _settled(name: Family, told: Family, *, is_first: bool) -> Family:
    """Return the family that name and description agree on."""
    if name is Family.UNSAID or told is Family.UNSAID or name is told:
        known = told if name is Family.UNSAID else name
        # A verb that the description does not repeat must at least stand first.
        is_plain = told is name or is_first or name is Family.UNSAID
        return known if is_plain else Family.UNSAID
    if name in READS and told in READS:
        return told if name is Family.READ else name if told is Family.READ else Family.READ
    if name in WRITES and told in WRITES:
        pair = {name, told}
        if pair == {Family.MAKE, Family.ADD}:
            return Family.ADD
        if pair == {Family.DELETE, Family.REMOVE}:
            return Family.REMOVE
        return Family.WRITE
    return Family.UNSAID


def _core(phrase: list[str]) -> list[str]:
    """Return the words of a thing without what is only an aspect of it (`details`, `list`)."""
    kept = [word for word in phrase if word not in words("aspects") and len(word) > 1]
    return kept[-3:]


def bare_schema(schema: Any) -> Mapping[str, Any]:
    """Return a schema without the branch that allows null."""
    if not isinstance(schema, Mapping):
        return {}
    for key in ("anyOf", "oneOf"):
        branches = [part for part in schema.get(key) or () if isinstance(part, Mapping)]
        real = [part for part in branches if part.get("type") != "null"]
        if len(real) == 1:
            return {**real[0], **{name: part for name, part in schema.items() if name != key}}
    return schema


def scalar_kind(schema: Any) -> str:
    """Return `string` or `integer` where a schema takes one such value, else an empty text."""
    schema = bare_schema(schema)
    kind = schema.get("type")
    if isinstance(kind, (list, tuple)):
        kind = next((name for name in kind if name != "null"), None)
    if kind == "string" and not schema.get("enum"):
        return "string"
    return "integer" if kind in ("integer", "number") else ""


def _keys(
    tool: ToolSpec, family: Family, nouns: list[str], callers: frozenset[str], *, is_one: bool
) -> tuple[str, ...]:
    """Return the required parameters that plainly name the record that the tool acts on."""
    if family in (Family.MAKE, Family.LIST, Family.SEARCH, Family.UNSAID):
        return ()
    properties = tool.input_schema.get("properties") or {}
    required = [
        name
        for name in tool.input_schema.get("required") or ()
        if scalar_kind(properties.get(name)) and name not in callers
    ]
    owns = {singular(word) for word in nouns} | {"_".join(singular(word) for word in nouns)}
    forms = {
        f"{noun}{join}{end}" for noun in owns for join in ("_", "") for end in words("key_ends")
    }
    secret = words("hidden")
    required = [name for name in required if not set(tokens(name)) & secret]
    own = [name for name in required if (word := snake(name)) in words("keys") or word in forms]
    if family is Family.ADD:
        return ()  # the record that it adds to may be kept elsewhere
    if own or family in (Family.PUT, Family.WRITE):
        return tuple(own[:1])
    ids = [name for name in required if snake(name).rpartition("_")[2] in words("key_ends")]
    if len(ids) == 1 and (is_one or family in WRITES):
        return tuple(ids)
    named = [
        name
        for name in required
        if not set(tokens(name)) & words("no_keys")
        and snake(name).rpartition("_")[2] in words("name_ends")
    ]
    is_alone = len(named) == 1 and (len(required) == 1 or is_one)
    return tuple(named) if is_alone and (is_one or family is Family.DELETE) else ()
