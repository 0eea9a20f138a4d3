"""Names that model APIs take, and the way back to the names that a server knows.

Owns the mapping between a server's names and the ones that the policy sees. It is one to one, and
the same in whatever order the names come: a name that is valid already keeps itself, and where two
others would meet, each carries a hash of its own.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from components.environment.sources.records import ServiceCard
from components.records.frozen import FrozenDict

MAX_POLICY_NAME = 64
"""Longest `<service>__<tool>` that common model APIs take."""
MAX_SERVICE_NAME = 24
MAX_PARAMETER_NAME = 64
_HASH = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class NameRule:
    """What a name may be made of."""

    others: re.Pattern[str]
    """Runs of characters that no name may hold; each run becomes `_`."""
    longest: int
    fallback: str
    """Start of a name of which nothing is left."""
    said: frozenset[str] = frozenset()
    """Words that a name which is too long leaves out, since they stand before it anyway."""


def tool_rule(service: str) -> NameRule:
    """Return the rule for the tools of a service: they stand behind `<service>__`.

    Example:
        >>> rule = tool_rule("semantic_scholar_academic")
        >>> valid_names(["get_semantic_scholar_paper_recommendations"], rule)
        {'get_semantic_scholar_paper_recommendations': 'get_paper_recommendations'}
    """
    return NameRule(
        others=re.compile(r"[^A-Za-z0-9_-]+"),
        longest=MAX_POLICY_NAME - len(service) - 2,
        fallback="tool",
        said=frozenset(word for word in service.split("_") if len(word) > 2),
    )


PARAMETER_RULE = NameRule(
    others=re.compile(r"[^A-Za-z0-9_.-]+"), longest=MAX_PARAMETER_NAME, fallback="parameter"
)
"""Parameters at the top level: one API refuses a whole request for any other name there."""


def valid_names(names: Iterable[str], rule: NameRule) -> dict[str, str]:
    """Return a valid name for each name, all different.

    Args:
        names: as the server says them; duplicates are one.

    Example:
        >>> valid_names(["get-x", "get x", "get.x"], tool_rule("s"))
        {'get x': 'get_x_acc6bdda', 'get-x': 'get-x', 'get.x': 'get_x_e8860c61'}
    """
    wanted = {name: _plain(name, rule) for name in sorted(set(names))}
    kept = {name for name, plain in wanted.items() if name == plain}
    uses = Counter(wanted.values())
    found: dict[str, str] = {}
    taken = set(kept)
    for name, plain in wanted.items():
        if name in kept:
            found[name] = name
            continue
        digits = 0 if uses[plain] == 1 and plain not in kept else _HASH
        while (valid := _with_hash(plain, name, digits, rule)) in taken:
            digits += _HASH
        taken.add(valid)
        found[name] = valid
    return found


def _plain(name: str, rule: NameRule) -> str:
    if len(name) <= rule.longest and name and not rule.others.search(name):
        return name
    plain = rule.others.sub("_", name.strip()).strip("_")
    if not plain.strip("_.-"):
        return _with_hash(rule.fallback, name, _HASH, rule)
    if len(plain) > rule.longest and rule.said:
        parts = re.split(r"([_-])", plain)
        kept = [word for word in parts[::2] if word.lower() not in rule.said]
        plain = (parts[1] if len(parts) > 1 else "").join(kept) or plain
    return plain if len(plain) <= rule.longest else _with_hash(plain, name, _HASH, rule)


def _with_hash(plain: str, name: str, digits: int, rule: NameRule) -> str:
    if not digits:
        return plain
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:digits]
    return f"{plain[: max(0, rule.longest - len(digest) - 1)]}_{digest}"[: rule.longest]


def service_name(name: str, taken: Iterable[str] = ()) -> str:
    """Return `name` as `[a-z][a-z0-9_]*`, different from all in `taken`.

    Example:
        >>> service_name("My Server (v2)"), service_name("9-lives", ["s_9_lives"])
        ('my_server_v2', 's_9_lives_2')
    """
    base, used = _service(name), frozenset(taken)
    found, number = base, 1
    while found in used:
        number += 1
        found = f"{base}_{number}"
    return found


def service_names(servers: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """Return a service name for each server, all different, in whatever order they come.

    Args:
        servers: (name as its source says it, hash of what it lists). Of servers that would share a
            name, the first by name and hash has it, the others a number behind it.
    """
    order = sorted(range(len(servers)), key=lambda at: servers[at])
    order.sort(key=lambda at: servers[at][0] != _service(servers[at][0]))
    found: dict[int, str] = {}
    for at in order:
        found[at] = service_name(servers[at][0], found.values())
    return tuple(found[at] for at in range(len(servers)))


def _service(name: str) -> str:
    base = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    if not base or not base[0].isalpha():
        base = f"s_{base}".rstrip("_")
    return base[:MAX_SERVICE_NAME].rstrip("_")


def to_server(
    card: ServiceCard, tool: str, arguments: Mapping[str, Any]
) -> tuple[str, dict[str, Any]]:
    """Return a call of the service's tool in the server's own names."""
    parameters: Mapping[str, str] = card.parameter_names.get(tool, FrozenDict())
    own = {parameters.get(name, name): value for name, value in arguments.items()}
    return card.tool_names.get(tool, tool), own


def from_server(
    card: ServiceCard, tool: str, arguments: Mapping[str, Any]
) -> tuple[str, dict[str, Any]]:
    """Return a call in the server's names as a call of the service's tool."""
    by_server = {theirs: ours for ours, theirs in card.tool_names.items()}
    name = by_server.get(tool, tool)
    by_ours: Mapping[str, str] = card.parameter_names.get(name, FrozenDict())
    parameters = {theirs: ours for ours, theirs in by_ours.items()}
    return name, {parameters.get(key, key): value for key, value in arguments.items()}
