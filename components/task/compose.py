"""Composing one task from one seed: services, anchor, walk, words, rubric, certificate.

Owns the draws. Nothing but the system, the settings and the seed decides what comes out. A dead
end is a rejected draft with a reason of `components.task.reasons`, never an exception.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Protocol

from components.environment.reactions import services_named
from components.errors import SynthesisError
from components.evaluator.compile import compile_rubric
from components.records.rubric import Rubric
from components.records.system import System
from components.records.task import Certificate, RejectedDraft, Task
from components.records.world import WorldSpec
from components.task.anchors import Anchor
from components.task.author import author_task
from components.task.certify import certify
from components.task.gold import run_gold
from components.task.ground import Ground, ground_of
from components.task.reasons import Reason, Rejection
from components.task.walk import Walk, WalkSearch

WORLD_NOW = "2026-03-02T09:00:00Z"
"""The clock of every composed world."""
_ANCHORS_PER_KIND = 4
_MAX_EXECUTED = 2400
"""Calls executed for one draft before it is given up."""
_MAX_WORLDS = 60
"""Sets of services that are looked at for one draft."""


class TaskSettings(Protocol):
    """What composing reads of its settings."""

    @property
    def k(self) -> int: ...
    @property
    def walk_length(self) -> int: ...
    @property
    def distractors(self) -> int: ...
    @property
    def domains(self) -> tuple[str, ...]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ComposedTask:
    """A certified task with its rubric."""

    task: Task
    rubric: Rubric
    certificate: Certificate


def compose_task(
    system: System, settings: TaskSettings, draft_seed: int
) -> ComposedTask | RejectedDraft:
    """Compose one task, or say why this draft did not become one.

    Args:
        system: services and reactions; tasks that it already has make no difference.
        settings: K, L, distractors and domains (names of services or of their domains; empty: all).
        draft_seed: every draw comes from it.
    """
    rng = random.Random(f"{draft_seed}:compose")
    try:
        drafted = _drafted(system, settings, draft_seed, rng)
    except SynthesisError as error:
        drafted = Rejection(reason=Reason.STRUCTURE, detail=str(error))
    if isinstance(drafted, ComposedTask):
        return drafted
    return RejectedDraft(
        draft_id=f"draft_{draft_seed}", reason=drafted.reason.value, detail=drafted.detail
    )


def _drafted(
    system: System, settings: TaskSettings, draft_seed: int, rng: random.Random
) -> ComposedTask | Rejection:
    spec = _drawn_world(system, settings, rng)
    if isinstance(spec, Rejection):
        return spec
    ground = ground_of(system, spec)
    if not ground.anchors:
        return Rejection(reason=Reason.NO_REACTION, detail=", ".join(spec.services))
    walk = _drawn_walk(ground, settings.walk_length, rng)
    if walk is None:
        return Rejection(
            reason=Reason.NO_PATH,
            detail=f"{', '.join(spec.services)}: no walk of {settings.walk_length} calls found",
        )
    task = author_task(ground, walk, spec, draft_seed, rng)
    gold = run_gold(ground.world, task)
    if isinstance(gold, Rejection):
        return gold
    records = [gold.records[name] for name in gold.names]
    rubric = compile_rubric(task, records, ground.world, gold.answer)
    certificate = certify(system, task, rubric)
    if isinstance(certificate, Rejection):
        return certificate
    return ComposedTask(task=task, rubric=rubric, certificate=certificate)


def _drawn_world(
    system: System, settings: TaskSettings, rng: random.Random
) -> WorldSpec | Rejection:
    """Draw K services that react to one another, and distractors: as many as there are."""
    everything = sorted(system.environment.blueprints)
    about = [
        name
        for name in everything
        if not settings.domains
        or name in settings.domains
        or system.reference.specs[name].domain in settings.domains
    ]
    if len(about) < settings.k:
        return Rejection(
            reason=Reason.TOO_FEW_SERVICES,
            detail=f"task.k is {settings.k}; services to choose from: {', '.join(about) or 'none'}",
        )
    choices = list(_reacting_sets(system, about, settings.k, rng))
    if not choices:
        return Rejection(
            reason=Reason.NO_REACTION,
            detail=f"no {settings.k} of {', '.join(about)} react to one another",
        )
    services = rng.choice(choices)
    rest = [name for name in everything if name not in services]
    distractors = rng.sample(rest, min(settings.distractors, len(rest)))
    return WorldSpec(services=services, distractors=tuple(sorted(distractors)), now=WORLD_NOW)


def _reacting_sets(
    system: System, names: list[str], k: int, rng: random.Random
) -> Iterator[tuple[str, ...]]:
    needed = {frozenset(services_named(item)) for item in system.environment.reactions.values()}
    sets = [item for item in combinations(names, k) if any(part <= set(item) for part in needed)]
    yield from rng.sample(sets, min(len(sets), _MAX_WORLDS))


def _drawn_walk(ground: Ground, length: int, rng: random.Random) -> Walk | None:
    """Draw anchors, each kind as likely as another, until one carries a walk."""
    by_kind: dict[tuple[str, str], list[Anchor]] = {}
    for anchor in ground.anchors:
        by_kind.setdefault((anchor.reaction, anchor.field), []).append(anchor)
    search = WalkSearch(ground, length, rng)
    kinds = sorted(by_kind)
    rng.shuffle(kinds)
    # A choice of few values could be guessed: such turns come last.
    kinds.sort(key=lambda kind: by_kind[kind][0].is_choice)
    drawn = {kind: rng.sample(by_kind[kind], len(by_kind[kind])) for kind in kinds}
    for turn in range(_ANCHORS_PER_KIND):
        for kind in kinds:
            if turn < len(drawn[kind]):
                walk = search.find(drawn[kind][turn])
                if walk is not None:
                    return walk
            if search.executed > _MAX_EXECUTED:
                return None
    return None
