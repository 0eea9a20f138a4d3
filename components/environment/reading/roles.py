"""What each parameter of a tool is for, once its operation is known.

Owns the order in which parameters are told apart: paging, sorting, secrets and format by name and
type first, identifiers by the classifier's probability, queries and dates by the operation, and
what is left is a value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from components.environment.reading.features import ServerView, ToolView, words_of_roles
from components.environment.reading.nouns import key_noun
from components.environment.reading.params import Param
from components.environment.reading.records import Role
from components.environment.reading.words import words
from components.records.blueprint import Operation

_READS = (Operation.GET, Operation.LIST, Operation.SEARCH)
_STORE = frozenset(Operation) - {Operation.COMPUTE, Operation.EXTERNAL}
_ADDS = (Operation.CREATE, Operation.APPEND, Operation.LIST, Operation.SEARCH)
_NUMERIC = ("integer", "number", "string", "")
PAGING = {
    "limit": Role.LIMIT,
    "offset": Role.OFFSET,
    "page": Role.PAGE,
    "cursor": Role.CURSOR,
    "sort_by": Role.SORT_BY,
    "sort_order": Role.SORT_ORDER,
}
"""Kind of a parameter by its look -> the role that it has by it alone."""


_LEAST_TOOLS = 8
"""Tools of a server that say enough of who calls."""
_MOST = 0.75
"""Share of the tools that must be told who calls."""


def callers_of(server: ServerView) -> frozenset[str]:
    """Return the parameters, in snake_case, that say who calls: a person that most tools of a
    server must be told, whatever they are about. That one says no record.
    """
    needed = Counter(
        param.snake for view in server.tools for param in view.params if param.is_required
    )
    if len(server.tools) < _LEAST_TOOLS:
        return frozenset()
    return frozenset(
        name
        for name, count in needed.items()
        if count >= _MOST * len(server.tools) and name.rpartition("_")[2] in words("caller_words")
    )


def assign_roles(
    view: ToolView,
    operation: Operation,
    entity: str | None,
    likely: Sequence[float],
    threshold: float,
    callers: frozenset[str] = frozenset(),
) -> dict[str, Role]:
    """Return the role of each top-level parameter, in the order of the schema.

    Args:
        likely: probability of each parameter that it picks an existing record.
        threshold: from which probability it does.
        callers: parameters that say who calls (see `callers_of`).
    """
    roles: dict[str, Role] = {}
    picks: list[Param] = []
    for param, kind, chance in zip(view.params, view.kinds, likely, strict=True):
        is_caller = param.is_required and param.snake in callers
        plain = Role.AUTH if is_caller else _plain_role(param, kind, operation)
        if plain is None and chance >= threshold and operation is not Operation.COMPUTE:
            picks.append(param)
            continue
        roles[param.name] = plain or _other_role(param, kind, operation)
    if operation is Operation.GET and not picks:
        picks = _only_key(view.params, roles)
    for param in picks:
        role = _pick_role(param, picks, operation, entity)
        # What a schema lists are kinds of things, and no records that were made.
        roles[param.name] = Role.VALUE if role is Role.PARENT and param.enum else role
    return {param.name: roles[param.name] for param in view.params}


def _only_key(params: Sequence[Param], roles: Mapping[str, Role]) -> list[Param]:
    """Return the one text that must be given to get something, if there is one: it says of what."""
    keys = [
        param
        for param in params
        if param.is_required
        and param.type == "string"
        and not param.enum
        and roles[param.name] is Role.VALUE
    ]
    return keys if len(keys) == 1 else []


def _plain_role(param: Param, kind: str, operation: Operation) -> Role | None:
    """Return a role that the name and type give alone, or None."""
    if kind == "auth":
        return Role.AUTH
    is_read = operation in _READS or operation is Operation.EXTERNAL
    is_key = operation is Operation.GET and param.is_required  # the page of a book, say
    if kind in PAGING and is_read and not is_key and _is_number(param, kind):
        return PAGING[kind]
    return None


def _is_number(param: Param, kind: str) -> bool:
    return kind != "limit" or param.type in _NUMERIC


def _other_role(param: Param, kind: str, operation: Operation) -> Role:
    """Return the role of a parameter that picks no record of the tool's own."""
    is_read = operation in _READS or operation is Operation.EXTERNAL
    if kind == "control" and not param.inner:  # no object says how a tool works
        return Role.CONTROL
    if is_read:
        if kind == "query" and param.type in ("string", "array", ""):
            return Role.QUERY
        if kind == "format":
            return Role.FORMAT
        if kind == "select":
            return Role.SELECT
    if kind in ("from", "to") and (is_read or param.words[-1:] != (kind,)):
        return Role.FROM if kind == "from" else Role.TO
    if operation is Operation.TRANSITION and param.snake in words_of_roles("state"):
        return Role.STATE
    if operation in _STORE and not is_read:
        if param.type == "array" and (param.item_type == "object" or param.inner):
            return Role.BATCH
        if param.type == "object" and operation in (Operation.UPDATE, Operation.CREATE):
            return Role.CHANGES if param.snake in words_of_roles("changes") else Role.VALUE
    if kind == "id" and operation is not Operation.COMPUTE:
        return Role.REFERENCE
    return Role.VALUE


def _pick_role(
    param: Param, picks: Sequence[Param], operation: Operation, entity: str | None
) -> Role:
    """Tell the record acted on from the one it stands under."""
    if operation in _ADDS:
        return Role.PARENT
    needed = [other for other in picks if other.is_required] or list(picks)
    if len(needed) == 1:
        return Role.IDENTIFIER if param in needed else Role.PARENT
    own = [other for other in needed if _names(other, entity)]
    if own:
        return Role.IDENTIFIER if param in own else Role.PARENT
    return Role.IDENTIFIER if param is needed[-1] else Role.PARENT


def _names(param: Param, entity: str | None) -> bool:
    noun = key_noun(param)
    head = (entity or "").split("_")[-1]
    return bool(noun) and (noun == entity or noun.split("_")[-1] == head)
