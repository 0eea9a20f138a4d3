"""Composing one task from one seed: anchor, walk, world, words, rubric, certificate.

Owns the draws. Nothing but the system, the settings and the seed decides what comes out. A dead
end is a rejected draft with a reason of `components.task.reasons`, never an exception.
"""

from __future__ import annotations

import random
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Protocol

from components.environment.world import build_world
from components.errors import SynthesisError
from components.evaluator.compile import compile_rubric
from components.records.rubric import Rubric
from components.records.system import System
from components.records.task import Certificate, RejectedDraft, Task
from components.records.world import WorldSpec
from components.task.asides import spoken
from components.task.author import author_task, task_id_of
from components.task.calibrate import edits_at, places_of
from components.task.certify import certify
from components.task.clauses import LEAST_LENGTH, ClauseKind, Names, drawn_kinds
from components.task.distractors import unnamed_instead
from components.task.drawing import Wanted, drawn_walk, lengthened, purposeful, with_asides
from components.task.gold import run_gold
from components.task.ground import Ground, ground_of
from components.task.naturalness import limit_of, marks_of, weight_of
from components.task.pairs import Halves, halves_of
from components.task.reasons import Reason, Rejection
from components.task.ruled_walks import ruled_walks
from components.task.steps import Walk
from components.task.walk import LONGEST

WORLD_NOW = "2026-03-02T09:00:00Z"
"""The clock of every composed world."""
_LEAST_K = 2
"""Services that a reaction joins."""
_GIVES_UP = 0.5
"""Share of drafts with a user that look for something which the user gives up again."""
_MANY = 8
"""Services among which a longer walk has to make sense."""
_CANDIDATES = 6
"""Walks of one draft that are put into words, until one reads well."""
_GOOD_ENOUGH = 2
"""Marks with which a very long walk is taken at once: there are few of them."""
_MISSED = {ClauseKind.EVERY: 2, ClauseKind.COUNT: 2}
"""How much it counts that what was looked for is not there, 1 but for what is hard to find."""
_PATIENCE = 4
"""Walks after which one that reads well is taken even if it says less than was looked for."""
_CERTIFIED = 3
"""Those of them that are certified, the best first, until one passes."""
_WALKS_UNDER_RULES = 12
"""Walks with a write that a rule is about, of one draft, that are certified."""
_OF_CLAUSES = frozenset(
    {Reason.CLAUSES, Reason.STRUCTURE, Reason.CLUMSY, Reason.FALSE_PASS, Reason.FALSE_FAIL}
    | {Reason.GOLD_FAILS, Reason.USER}
)
"""Why a walk with clauses that add no call may be refused where it would pass without them."""


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
    @property
    def multi_turn(self) -> float: ...
    @property
    def implicit(self) -> float: ...
    @property
    def policies(self) -> float: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Made:
    """What one draft is made by."""

    seed: int
    has_user: bool
    is_lenient: bool = False
    """Whether a request may read as it will: among few services there is little choice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComposedTask:
    """A certified task with its rubric."""

    task: Task
    rubric: Rubric
    certificate: Certificate


@dataclass(frozen=True, slots=True, kw_only=True)
class ComposedPair:
    """Two tasks of one request, of which a rule allows one and not the other."""

    compliant: ComposedTask
    adversarial: ComposedTask


def compose_task(
    system: System, settings: TaskSettings, draft_seed: int
) -> ComposedTask | ComposedPair | RejectedDraft:
    """Compose one task or one pair, or say why this draft became neither.

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
    if isinstance(drafted, (ComposedTask, ComposedPair)):
        return drafted
    return RejectedDraft(
        draft_id=f"draft_{draft_seed}", reason=drafted.reason.value, detail=drafted.detail
    )


def services_for_tasks(system: System, domains: Collection[str]) -> tuple[str, ...]:
    """Return the services that a task may need, sorted.

    Args:
        system: a service that is code is left out: no blueprint says what its tools answer.
        domains: names of services or of their domains; empty: all.
    """
    return tuple(
        name
        for name in sorted(system.environment.blueprints)
        if name not in system.environment.code
        and (not domains or name in domains or system.reference.specs[name].domain in domains)
    )


def _drafted(
    system: System, settings: TaskSettings, draft_seed: int, rng: random.Random
) -> ComposedTask | ComposedPair | Rejection:
    about = services_for_tasks(system, settings.domains)
    if len(about) < settings.k:
        return Rejection(
            reason=Reason.TOO_FEW_SERVICES,
            detail=f"task.k is {settings.k}; services to choose from: {', '.join(about) or 'none'}",
        )
    ground = ground_of(system, WorldSpec(services=about, distractors=(), now=WORLD_NOW))
    if settings.k < _LEAST_K or not ground.anchors:
        return Rejection(
            reason=Reason.NO_REACTION,
            detail=f"no {settings.k} of {', '.join(about)} react to one another",
        )
    under_rules = random.Random(f"{draft_seed}:policies")
    if under_rules.random() < settings.policies:
        return _paired(system, ground, settings, draft_seed, under_rules)
    own, names = random.Random(f"{draft_seed}:clauses"), Names()
    kinds = drawn_kinds(own, settings.walk_length)
    talk = random.Random(f"{draft_seed}:user")
    has_user = talk.random() < settings.multi_turn
    if has_user and talk.random() < _GIVES_UP:
        kinds |= {ClauseKind.RESTRAINT}
    made_as = _Made(seed=draft_seed, has_user=has_user)
    wanted = Wanted(k=settings.k, length=settings.walk_length, kinds=kinds)
    if settings.walk_length >= LEAST_LENGTH:
        best = _best(system, ground, wanted, settings, made_as)
        if isinstance(best, ComposedTask) or len(about) >= _MANY:
            return best
        made_as = replace(made_as, is_lenient=True)
    walk = lengthened(ground, wanted, names, own)
    if walk is not None:
        walk = with_asides(ground, walk, wanted, names, own)
        made = _settled(system, ground, walk, settings, made_as, own)
        if isinstance(made, ComposedTask):
            return made
    # A draft whose clauses come to nothing is the plain one that its seed would give without them.
    plain = drawn_walk(ground, settings.k, settings.walk_length, rng)
    if plain is None:
        return Rejection(
            reason=Reason.NO_PATH,
            detail=f"no walk of {settings.walk_length} calls through {settings.k} services found",
        )
    walk = with_asides(ground, plain, wanted, Names(), own)
    if walk.clauses:
        made = _settled(system, ground, walk, settings, made_as, own)
        if isinstance(made, ComposedTask) or made.reason not in _OF_CLAUSES:
            return made
    return _settled(system, ground, plain, settings, made_as, rng)


def _best(
    system: System, ground: Ground, wanted: Wanted, settings: TaskSettings, made: _Made
) -> ComposedTask | Rejection:
    """Return the certified task of the walk that reads best of several, or why there is none."""
    found: list[tuple[int, int, Walk]] = []
    last = Rejection(
        reason=Reason.NO_PATH,
        detail=f"no walk of {wanted.length} calls through {wanted.k} services found",
    )
    for number in range(_CANDIDATES):
        rng = random.Random(f"{made.seed}:candidate:{number}")
        walk = purposeful(ground, wanted, rng)
        if walk is None:
            continue
        words = random.Random(f"{made.seed}:words:{number}")
        task = _authored(system, ground, walk, settings, made, words)
        if isinstance(task, Rejection):
            last = task
            continue
        weight = weight_of(marks_of(ground, walk, task.instruction))
        # What was looked for and not found makes a request plainer than it was meant to be.
        missing = sum(
            _MISSED.get(kind, 1) for kind in wanted.kinds - {ClauseKind.DATE} - walk.clauses.kinds
        )
        found.append((weight + missing, number, walk))
        is_good = weight <= (_GOOD_ENOUGH if wanted.length >= LONGEST else 0)
        if is_good and (not missing or number >= _PATIENCE or wanted.length >= LONGEST):
            break
    for _rank, number, walk in sorted(found, key=lambda item: item[:2])[:_CERTIFIED]:
        rng = random.Random(f"{made.seed}:words:{number}")
        settled = _settled(system, ground, walk, settings, made, rng)
        if isinstance(settled, ComposedTask):
            return settled
        last = settled
    return last


def _settled(
    system: System,
    ground: Ground,
    walk: Walk,
    settings: TaskSettings,
    made: _Made,
    rng: random.Random,
) -> ComposedTask | Rejection:
    """Return the certified task of a walk, as implicit as is asked for."""
    state = rng.getstate()

    def certified(walk: Walk) -> ComposedTask | Rejection:
        again = random.Random()
        again.setstate(state)  # one draw of words and distractors for all
        return _certified(system, ground, walk, settings, made, again)

    found = _certified(system, ground, walk, settings, made, rng)
    if not isinstance(found, ComposedTask) or made.has_user or not settings.implicit:
        return found
    own = random.Random(f"{made.seed}:calibrate")
    walk = replace(walk, explicit=found.task.instruction)
    places = places_of(ground, walk, own)
    whole, rest = divmod(settings.implicit * len(places), 1)
    for place in own.sample(places, int(whole) + (own.random() < rest)):
        for edited in edits_at(ground, walk, place, own):
            better = certified(edited)
            if isinstance(better, ComposedTask):
                found, walk = better, edited
                break
    return found


def _paired(
    system: System, ground: Ground, settings: TaskSettings, draft_seed: int, rng: random.Random
) -> ComposedPair | Rejection:
    """Return a pair, or why the last of the walks that were tried made none."""
    last = Rejection(reason=Reason.NO_RULE, detail="no write of a walk is one that a rule is about")
    contract, left = system.reference.contract, _WALKS_UNDER_RULES
    for found in ruled_walks(ground, contract, settings.k, settings.walk_length, rng):
        spec = WorldSpec(
            services=found.walk.services,
            distractors=drawn_rest(system, found.walk.services, settings, rng),
            now=WORLD_NOW,
        )
        found = found.spoken() if settings.walk_length >= LEAST_LENGTH else found
        try:
            base = author_task(ground, found.walk, spec, draft_seed, rng, speaks=False)
        except SynthesisError as error:
            last = Rejection(reason=Reason.STRUCTURE, detail=str(error))
            continue
        for halves in halves_of(ground, contract, found, base, rng):
            made = _certified_pair(system, halves)
            if isinstance(made, ComposedPair):
                return made
            last, left = made, left - 1
            if not left:
                return last
    return last


def _certified_pair(system: System, halves: Halves) -> ComposedPair | Rejection:
    """Certify both halves; the one that is refused first tells why there is no pair."""
    made = []
    tasks = (halves.adversarial, halves.compliant)
    for task, twin in zip(tasks, reversed(tasks), strict=True):
        try:
            world = build_world(system, task.world)
        except SynthesisError as error:
            return Rejection(reason=Reason.POLICY, detail=str(error))
        gold = run_gold(world, task)
        if isinstance(gold, Rejection):
            return gold
        records = [gold.records[name] for name in gold.names]
        rubric = compile_rubric(task, records, world, gold.answer)
        certificate = certify(system, task, rubric, world, twin)
        if isinstance(certificate, Rejection):
            return certificate
        made.append(ComposedTask(task=task, rubric=rubric, certificate=certificate))
    return ComposedPair(adversarial=made[0], compliant=made[1])


def _certified(
    system: System,
    ground: Ground,
    walk: Walk,
    settings: TaskSettings,
    made: _Made,
    rng: random.Random,
) -> ComposedTask | Rejection:
    task = _authored(system, ground, walk, settings, made, rng)
    if isinstance(task, Rejection):
        return task
    world = build_world(system, task.world)
    gold = run_gold(world, task)
    if isinstance(gold, Rejection):
        return gold
    records = [gold.records[name] for name in gold.names]
    rubric = compile_rubric(task, records, world, gold.answer)
    certificate = certify(system, task, rubric, world)
    if isinstance(certificate, Rejection):
        return certificate
    return ComposedTask(task=task, rubric=rubric, certificate=certificate)


def _authored(
    system: System,
    ground: Ground,
    walk: Walk,
    settings: TaskSettings,
    made: _Made,
    rng: random.Random,
) -> Task | Rejection:
    """Return the task of a walk, not certified; a longer one only where it reads naturally."""
    spec = WorldSpec(
        services=walk.services,
        distractors=drawn_rest(system, walk.services, settings, rng),
        now=WORLD_NOW,
    )
    is_long = settings.walk_length >= LEAST_LENGTH
    if is_long:
        walk = spoken(walk)
    try:
        task = author_task(ground, walk, spec, made.seed, rng, has_user=made.has_user)
    except SynthesisError as error:
        return Rejection(reason=Reason.STRUCTURE, detail=str(error))
    if is_long:
        others = random.Random(f"{made.seed}:distractors")
        spec = unnamed_instead(system, spec, task.instruction, others)
    if spec != task.world:
        task = task.model_copy(update={"world": spec})
        task = task.model_copy(update={"task_id": task_id_of(task)})
    marks = marks_of(ground, walk, task.instruction) if is_long else ()
    if not made.is_lenient and weight_of(marks) >= limit_of(walk):
        names = ", ".join(mark.name for mark in marks)
        return Rejection(reason=Reason.UNNATURAL, detail=names)
    return task


def drawn_rest(
    system: System, services: tuple[str, ...], settings: TaskSettings, rng: random.Random
) -> tuple[str, ...]:
    """Draw what is only in the way: as many as are asked for, or as there are."""
    rest = [name for name in sorted(system.environment.blueprints) if name not in services]
    return tuple(sorted(rng.sample(rest, min(settings.distractors, len(rest)))))
