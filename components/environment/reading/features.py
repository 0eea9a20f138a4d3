"""Features of a tool that a linear classifier weighs, from its words, schema and server.

Owns what is looked at. Every feature has a readable name (`name verb: list`), since a reading is
explained by the features that weighed most.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from components.environment.reading.params import Param, read_params
from components.environment.reading.words import (
    LEXICON,
    VERBS,
    Phrase,
    read_name,
    read_sentence,
    sentence,
    singular,
    text_words,
    tokens,
    words,
)
from components.environment.wrapped import opened
from components.records.spec import ServiceSpec, ToolSpec

FEATURE_VERSION = 3
"""Raised with every change of the features; weights of another version are refused."""

_DIGEST = re.compile(r"_(?=[0-9a-f]*\d)[0-9a-f]{8}$")
"""End of a name that was too long for a policy and was cut."""
_PAGING = frozenset(("limit", "page", "offset", "cursor"))
_TAILS = frozenset(("key", "code", "number", "hash", "symbol", "address", "name"))
_ID_LIKE = frozenset(("id", "path", *(f"{tail}_like" for tail in _TAILS)))

_ROLE_NAMES: dict[str, str] = {
    name.replace("_", ""): role
    for role in reversed(list(LEXICON["roles"]))
    for name in LEXICON["roles"][role].split()
    if role not in ("id_words", "state", "changes")
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolView:
    """A tool with what was read of it once."""

    tool: ToolSpec
    parts: tuple[str, ...]
    """Tokens of the name without the server's prefix."""
    name: Phrase
    text: Phrase
    params: tuple[Param, ...]
    kinds: tuple[str, ...]
    """Kind of each parameter by its look."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerView:
    """A server with what was read of it once."""

    service: str
    title_words: tuple[str, ...]
    tools: tuple[ToolView, ...]


def kind_of(param: Param) -> str:
    """Return what a parameter looks like: `id`, a role of the lexicon, or `field`."""
    flat = "".join(param.words)
    found = _ROLE_NAMES.get(flat)
    if found:
        return found
    last = param.words[-1] if param.words else ""
    if last in words_of_roles("id_words"):
        return "id"
    for start in range(1, len(param.words)):
        found = _ROLE_NAMES.get("".join(param.words[start:]))
        if found in ("url", "path", "code", "query", "text", "auth", "place"):
            return found
    if last in _TAILS:
        return f"{last}_like"
    return "field"


@lru_cache(maxsize=32)
def words_of_roles(kind: str) -> frozenset[str]:
    """Return one list of parameter names of the lexicon."""
    return frozenset(LEXICON["roles"][kind].split())


def server_prefix(spec: ServiceSpec) -> tuple[str, ...]:
    """Return the words that nearly all of a server's names begin with and that are no verb."""
    names = [tokens(name) for name in sorted(spec.tools)]
    names = [parts for parts in names if parts]
    prefix: tuple[str, ...] = ()
    while len(names) >= 3:
        place = len(prefix)
        firsts = Counter(parts[place] for parts in names if len(parts) > place + 1)
        if not firsts:
            break
        word, count = min(firsts.items(), key=lambda item: (-item[1], item[0]))
        if word in VERBS and word not in words("noun_like_verbs"):
            break
        if count < 0.8 * len(names):
            break
        prefix = (*prefix, word)
        names = [
            parts
            for parts in names
            if parts[:place] == prefix[:place] and parts[place : place + 1] == (word,)
        ]
    return prefix


def group_words(names: Iterable[tuple[str, ...]]) -> frozenset[str]:
    """Return the words that several tools put before their verb (`crm_create_deal`)."""
    firsts = Counter(
        parts[0]
        for parts in names
        if len(parts) > 1
        and parts[1] in VERBS
        and (parts[0] not in VERBS or parts[1] in words("plain_verbs"))
    )
    return frozenset(word for word, count in firsts.items() if count >= 2)


def view_server(spec: ServiceSpec) -> ServerView:
    """Read every tool of a spec once, in the order of their names, each as if its arguments lay at
    the top, though they lie in one object.
    """
    spec = opened(spec)
    prefix = server_prefix(spec)
    title = tuple(
        dict.fromkeys(
            word
            for word in (*tokens(spec.service), *text_words(spec.title))
            if word not in words("server_noise")
        )
    )
    cut: dict[str, tuple[str, ...]] = {}
    for name in sorted(spec.tools):
        parts = tokens(_DIGEST.sub("", name))
        has_prefix = prefix and parts[: len(prefix)] == prefix and len(parts) > len(prefix)
        parts = parts[len(prefix) :] if has_prefix else parts
        if len(parts) > 2 and parts[0] not in VERBS and parts[0] in title:
            parts = parts[1:]
        cut[name] = parts
    groups = group_words(cut.values())
    return ServerView(
        service=spec.service,
        title_words=title,
        tools=tuple(_view(spec.tools[name], parts, groups) for name, parts in cut.items()),
    )


def _view(tool: ToolSpec, parts: tuple[str, ...], groups: frozenset[str]) -> ToolView:
    params = read_params(tool)
    return ToolView(
        tool=tool,
        parts=parts,
        name=read_name(parts, groups),
        text=read_sentence(tool.description),
        params=params,
        kinds=tuple(kind_of(param) for param in params),
    )


def features_of(server: ServerView) -> list[dict[str, float]]:
    """Return the features of each tool of a server, in the order of `server.tools`."""
    shared = _server_features(server)
    return [_tool_features(view) | shared for view in server.tools]


def _server_features(server: ServerView) -> dict[str, float]:
    out: dict[str, float] = {}
    for word in server.title_words[:12]:
        out[f"server title: {singular(word)}"] = 0.15
    total = len(server.tools)
    bag: Counter[str] = Counter()
    families: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    for view in server.tools:
        bag.update({singular(word) for word in view.parts})
        families[view.name.family or view.text.family or "none"] += 1
        kinds.update(set(view.kinds))
    for word, count in bag.items():
        out[f"server names: {word}"] = 0.8 * (count / total) ** 0.5
    for family, count in families.items():
        out[f"server verbs: {family}"] = count / total
    for kind, count in kinds.items():
        out[f"server params: {kind}"] = 0.5 * count / total
    return out


def _tool_features(view: ToolView) -> dict[str, float]:
    out: dict[str, float] = {"bias": 1.0}
    _name_features(view, out)
    _text_features(view, out)
    _param_features(view, out)
    _crossed(view, out)
    return out


def _name_features(view: ToolView, out: dict[str, float]) -> None:
    phrase = view.name
    out[f"name verb: {phrase.verb or '-'}"] = 1.0
    out[f"name verb family: {phrase.family or '-'}"] = 1.0
    out[f"name verb place: {phrase.place}"] = 0.5
    for word in phrase.noun:
        out[f"name noun: {singular(word)}"] = 0.7
    if phrase.noun:
        out[f"name head: {phrase.head}"] = 1.0
    if phrase.container:
        out[f"name container: {phrase.container}"] = 1.0
    if phrase.rest:
        out[f"name preposition: {phrase.rest[0]}"] = 0.7
        for word in phrase.rest[1:]:
            out[f"name behind: {singular(word)}"] = 0.5
    if view.parts:
        out[f"name first: {view.parts[0]}"] = 0.5
        out[f"name last: {view.parts[-1]}"] = 0.5
    for word in view.parts:
        out[f"name word: {singular(word)}"] = 0.7
    for pair in itertools.pairwise(view.parts):
        out[f"name pair: {' '.join(pair)}"] = 0.5


def _text_features(view: ToolView, out: dict[str, float]) -> None:
    phrase = view.text
    if not view.tool.description:
        out["no description"] = 1.0
        return
    out[f"text verb: {phrase.verb or '-'}"] = 1.0
    out[f"text verb family: {phrase.family or '-'}"] = 1.0
    if phrase.noun:
        out[f"text head: {phrase.head}"] = 0.8
    for word in phrase.noun:
        out[f"text noun: {singular(word)}"] = 0.5
    if phrase.container:
        out[f"text container: {phrase.container}"] = 0.8
    if phrase.is_plural:
        out["text object plural"] = 1.0
    if phrase.is_single:
        out["text object single"] = 0.7
    if phrase.is_all:
        out["text object all"] = 0.7
    first = [singular(word) for word in text_words(sentence(view.tool.description))][:40]
    for word in first:
        out[f"text word: {word}"] = 0.55
    for pair in itertools.pairwise(first):
        out[f"text pair: {' '.join(pair)}"] = 0.3
    for word in text_words(view.tool.description[:600]):
        out[f"long text word: {singular(word)}"] = 0.3


def _param_features(view: ToolView, out: dict[str, float]) -> None:
    needed = [i for i, param in enumerate(view.params) if param.is_required]
    out[f"params: {min(len(view.params), 6)}"] = 0.6
    out[f"required params: {min(len(needed), 4)}"] = 0.6
    for param, kind in zip(view.params, view.kinds, strict=True):
        need = "required" if param.is_required else "optional"
        out[f"{need} kind: {kind}"] = 0.8
        out[f"param: {param.snake}"] = 0.4
        if param.is_required:
            out[f"required: {param.snake}"] = 0.4
            out[f"required type: {param.type}"] = 0.4
        for word in param.words:
            out[f"param word: {singular(word)}"] = 0.4
        if param.enum and param.snake in ("action", "operation", "command", "method", "mode", "op"):
            out["param that chooses an action"] = 1.0
        for word in text_words(param.description[:120])[:15]:
            out[f"param text: {singular(word)}"] = 0.1
    if len(needed) == 1:
        out[f"only required kind: {view.kinds[needed[0]]}"] = 0.8


def _crossed(view: ToolView, out: dict[str, float]) -> None:
    """Pairs of facts that mean more together: verb, number of the noun, kind of the required."""
    family = view.name.family or (f"text {view.text.family}" if view.text.family else "-")
    plural = view.name.is_plural or (not view.name.noun and view.text.is_plural)
    number = "plural" if plural else "singular" if view.name.noun or view.text.noun else "no"
    need = _needs(view)
    text_number = "plural" if view.text.is_plural else "singular"
    box = " list" if view.text.container in words("list_words") else ""
    for pair in (
        f"{family}, {number} noun",
        f"{family}, needs {need}",
        f"{family}, {number} noun, needs {need}",
        f"{family}, text {view.text.family or '-'} {text_number}{box}",
    ):
        out[pair] = 0.6
    if any(kind in _PAGING for kind in view.kinds):
        out[f"{family}, paged"] = 0.5
        out["paged"] = 0.8


def _needs(view: ToolView) -> str:
    """Return what kind of argument a caller cannot do without."""
    needed = {
        kind for param, kind in zip(view.params, view.kinds, strict=True) if param.is_required
    }
    if needed & _ID_LIKE:
        return "id"
    for kind in ("query", "url", "place"):
        if kind in needed:
            return kind
    return "other" if needed else "nothing"
