"""Reads every tool of a spec: operation, class, kind of record, roles of the parameters, and why.

Owns the order of the reading: words and schema, the classifier, kinds of record, roles. Nothing
here knows a particular server; what was learned is in `weights.json`, words are in `lexicon.json`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from components.environment.reading.difficulty import difficulty_of
from components.environment.reading.entities import entities_of
from components.environment.reading.features import (
    FEATURE_VERSION,
    ServerView,
    ToolView,
    features_of,
    view_server,
)
from components.environment.reading.linear import LinearModel, from_stored
from components.environment.reading.nouns import key_noun
from components.environment.reading.param_features import param_features
from components.environment.reading.records import Role, ToolReading
from components.environment.reading.roles import assign_roles, callers_of
from components.environment.reading.words import words
from components.errors import SpecError
from components.records.blueprint import FunctionalClass, Operation
from components.records.frozen import FrozenDict
from components.records.spec import ServiceSpec

WEIGHTS = Path(__file__).with_name("weights.json")
_WRITES = frozenset(
    {
        Operation.CREATE,
        Operation.UPDATE,
        Operation.DELETE,
        Operation.TRANSITION,
        Operation.APPEND,
        Operation.DETACH,
        Operation.LINK,
    }
)
_SHOWS = frozenset({Operation.GET, Operation.LIST, Operation.SEARCH})
_PARENTED = frozenset({Operation.APPEND, Operation.DETACH, Operation.LINK})
_NUM_REASONS = 4
_HINT = 0.3
"""Factor on classes that a server's own hint speaks against. Hints are untrusted: one decides only
where the words leave the choice open.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """What `fit` learned."""

    operation: LinearModel
    """Over operations; `external/read` and the like tell the class of an external tool."""
    identifier: LinearModel
    """Over `no`, `yes`: whether a parameter picks an existing record."""
    external_threshold: float
    """From which probability of `external` a tool is not deterministic."""
    identifier_threshold: float


@lru_cache(maxsize=1)
def learned() -> Learned:
    """Return the shipped weights.

    Raises:
        SpecError: they were fitted for other features.
    """
    stored: dict[str, Any] = json.loads(WEIGHTS.read_text(encoding="utf-8"))
    if stored["feature_version"] != FEATURE_VERSION:
        raise SpecError(
            f"{WEIGHTS.name}: fitted for features {stored['feature_version']}, the code has "
            f"{FEATURE_VERSION}; fit them again (components.environment.reading.fit)"
        )
    return Learned(
        operation=from_stored(stored["operation"]),
        identifier=from_stored(stored["identifier"]),
        external_threshold=stored["external_threshold"],
        identifier_threshold=stored["identifier_threshold"],
    )


RuledOut = Mapping[str, frozenset[Operation]]
"""Tool -> operations that it is known not to do."""
NOTHING_RULED_OUT: RuledOut = FrozenDict()


def read_spec(
    spec: ServiceSpec, ruled_out: RuledOut = NOTHING_RULED_OUT
) -> FrozenDict[str, ToolReading]:
    """Return what each tool of a spec is taken for, by the tool's name.

    Args:
        spec: any spec.
        ruled_out: what trials have shown to be wrong; the tool is read as the likeliest of the
            others.

    Example:
        >>> from components.records.spec import ToolSpec
        >>> tool = ToolSpec(name="list_users", description="List all users")
        >>> spec = ServiceSpec(service="people", tools=FrozenDict({"list_users": tool}))
        >>> read_spec(spec)["list_users"].operation.value
        'list'
    """
    return read_with(spec, learned(), ruled_out)


def read_with(
    spec: ServiceSpec, weights: Learned, ruled_out: RuledOut = NOTHING_RULED_OUT
) -> FrozenDict[str, ToolReading]:
    """Return the readings that given weights make of a spec."""
    server = view_server(spec)
    seen = features_of(server)
    chosen = [
        _chosen(view, features, weights, ruled_out.get(view.tool.name, frozenset()))
        for view, features in zip(server.tools, seen, strict=True)
    ]
    entities = entities_of(server, [choice.operation for choice in chosen])
    callers = callers_of(server)
    found = {
        view.tool.name: _read(server, view, features, choice, entity, weights, callers)
        for view, features, choice, entity in zip(server.tools, seen, chosen, entities, strict=True)
    }
    return FrozenDict({name: found[name] for name in spec.tools})


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What the classifier's probabilities say."""

    operation: Operation
    functional: FunctionalClass
    deterministic: bool
    confidence: float
    place: int
    """Class of the model that speaks most for the operation."""


def choose(model: LinearModel, chances: NDArray[np.float64], external_threshold: float) -> Choice:
    """Turn the probabilities of the classes, [C], into a reading."""
    by_operation: dict[str, float] = {}
    by_class: dict[str, float] = {}
    for name, chance in zip(model.classes, chances, strict=True):
        operation, _, functional = name.partition("/")
        by_operation[operation] = by_operation.get(operation, 0.0) + float(chance)
        functional = functional or functional_of(Operation(operation)).value
        by_class[functional] = by_class.get(functional, 0.0) + float(chance)
    external = by_operation.get(Operation.EXTERNAL.value, 0.0)
    best = max(by_operation, key=lambda name: by_operation[name])
    if external >= external_threshold:
        best = Operation.EXTERNAL.value
    elif best == Operation.EXTERNAL.value:
        others = {name: chance for name, chance in by_operation.items() if name != best}
        best = max(others, key=lambda name: others[name])
    operation = Operation(best)
    if operation is Operation.EXTERNAL:
        functional = FunctionalClass(max(by_class, key=lambda name: by_class[name]))
    else:
        functional = functional_of(operation)
    places = [
        (float(chance), -place)
        for place, (name, chance) in enumerate(zip(model.classes, chances, strict=True))
        if name.partition("/")[0] == best
    ]
    return Choice(
        operation=operation,
        functional=functional,
        deterministic=operation is not Operation.EXTERNAL,
        confidence=min(1.0, by_operation[best]),
        place=-max(places)[1],
    )


def hinted(
    model: LinearModel, chances: NDArray[np.float64], annotations: Mapping[str, Any]
) -> NDArray[np.float64]:
    """Weigh the probabilities of the classes, [C], by the hints of MCP's annotations."""
    is_read = annotations.get("readOnlyHint")
    is_closed = annotations.get("openWorldHint") is False
    if not isinstance(is_read, bool) and not is_closed:
        return chances
    factors = np.ones(len(chances))
    for place, name in enumerate(model.classes):
        operation, _, functional = name.partition("/")
        functional = functional or functional_of(Operation(operation)).value
        if isinstance(is_read, bool) and is_read == (functional == FunctionalClass.WRITE.value):
            factors[place] *= _HINT
        if is_closed and operation == Operation.EXTERNAL.value:
            factors[place] *= _HINT
    weighed: NDArray[np.float64] = chances * factors / (chances * factors).sum()
    return weighed


def functional_of(operation: Operation) -> FunctionalClass:
    """Return the class that an operation has; an external tool's is its own."""
    if operation in _WRITES:
        return FunctionalClass.WRITE
    return FunctionalClass.PROCESS if operation is Operation.COMPUTE else FunctionalClass.READ


def _chosen(
    view: ToolView, features: dict[str, float], weights: Learned, never: frozenset[Operation]
) -> Choice:
    model = weights.operation
    chances = hinted(model, model.probabilities(features), view.tool.annotations)
    if never:
        places = [
            place
            for place, name in enumerate(model.classes)
            if name.partition("/")[0] in {operation.value for operation in never}
        ]
        chances = chances.copy()
        chances[places] = 0.0
    chosen = choose(model, chances, weights.external_threshold)
    if chosen.operation in _SHOWS and _asks_for_life(view):
        place = model.classes.index(f"external/{FunctionalClass.READ.value}")
        chosen = replace(
            chosen, operation=Operation.EXTERNAL, deterministic=False, confidence=1.0, place=place
        )
    return chosen


def _asks_for_life(view: ToolView) -> bool:
    """True for a tool that asks whether a server is there (`ping`): nothing that is kept here."""
    needs_nothing = not any(param.is_required for param in view.params)
    is_asked = not words("life_words").isdisjoint(view.parts)
    return needs_nothing and is_asked and words("life_words_beside").issuperset(view.parts)


def _read(
    server: ServerView,
    view: ToolView,
    features: dict[str, float],
    chosen: Choice,
    entity: str | None,
    weights: Learned,
    callers: frozenset[str],
) -> ToolReading:
    yes = weights.identifier.classes.index("yes")
    likely = [
        float(weights.identifier.probabilities(one)[yes])
        for one in param_features(server, view, chosen.operation.value)
    ]
    noun = entity
    if chosen.operation in (Operation.COMPUTE, Operation.EXTERNAL):
        entity = None
    roles = assign_roles(
        view, chosen.operation, entity, likely, weights.identifier_threshold, callers
    )
    return ToolReading(
        operation=chosen.operation,
        functional=chosen.functional,
        deterministic=chosen.deterministic,
        entity=entity,
        subject=noun,
        parent=_parent(view, roles, entity) if chosen.operation in _PARENTED else None,
        roles=FrozenDict(roles),
        difficulty=difficulty_of(view, roles),
        confidence=round(chosen.confidence, 4),
        why=(
            f"{chosen.operation.value} with {chosen.confidence:.0%}",
            *weights.operation.reasons(features, chosen.place, _NUM_REASONS),
        ),
    )


def _parent(view: ToolView, roles: dict[str, Role], entity: str | None) -> str | None:
    """Return the kind of record that a child is added to, taken from or related to."""
    for role in (Role.PARENT, Role.IDENTIFIER):
        for param in view.params:
            if roles[param.name] is role:
                noun = key_noun(param)
                if noun and noun != entity:
                    return noun
    return None
