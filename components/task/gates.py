"""The gates that look at a task and at the run of its gold; no mutant is needed for them.

Structure, words, demands, the revisit, provenance. Each gate returns the first breach
that it finds, or None.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from itertools import groupby, pairwise

from components.environment.state import rows_of
from components.environment.world import World
from components.records.system import System
from components.records.task import (
    Clause,
    Demand,
    Every,
    FromDefault,
    FromInstruction,
    FromObservation,
    FromRule,
    Provenance,
    Referent,
    Task,
)
from components.task.distractors import name_in
from components.task.gold import Gold
from components.task.graph import Parameter, ToolGraph, ToolShape
from components.task.known import Known, entity_of, known_in, other_names
from components.task.provenance import at_path, concrete, leaves, observations_of, shows
from components.task.reasons import Reason, Rejection
from components.task.rules import complied, ruled_of
from components.task.steps import can_be_had

_ANSWER = "answer"


def check_structure(task: Task, graph: ToolGraph) -> Rejection | None:
    """Check that steps, services, spans and answer fit together."""
    whole = complied(task)
    names = sorted(whole.gold)
    services = [whole.gold[name].service for name in names]
    if set(services) != set(task.world.services):
        return _no(Reason.STRUCTURE, f"gold visits {sorted(set(services))}")
    in_groups = {step for item in task.clauses.values() for step in steps_of(item)}
    in_groups |= _beside_rule(task, names)
    added = looked_up(task)
    walked = [name for name in names if name not in added]
    for before, name in pairwise(walked):
        left, right = whole.gold[before].service, whole.gold[name].service
        if left == right and name not in in_groups and task.author == "grammar":
            return _no(Reason.STRUCTURE, f"{name} calls {right} twice in a row")
    if length_of(task) <= len(task.world.services):
        return _no(
            Reason.STRUCTURE, f"{length_of(task)} steps for {len(task.world.services)} services"
        )
    for name, step in (*task.gold.items(), *whole.gold.items()):
        if (step.service, step.tool) not in graph.tools:
            return _no(Reason.STRUCTURE, f"{name}: {step.service}.{step.tool} is not offered")
    spans: list[tuple[str, Demand | Referent]] = [*task.demands.items(), *task.referents.items()]
    for label, span in spans:
        if not span.start < span.end <= len(task.instruction):
            return _no(Reason.STRUCTURE, f"{label}: its span is not inside the instruction")
        if span.step not in task.gold and span.step != _ANSWER:
            return _no(Reason.DEMANDS, f"{label}: there is no step {span.step!r}")
    wanted = set((task.answer_schema.get("properties") or {}).keys())
    if wanted != set(task.answer):
        return _no(Reason.STRUCTURE, "the answer's schema and its fields differ")
    return None


def steps_of(clause: Clause) -> tuple[str, ...]:
    """Return the steps of gold that are one write for several rows."""
    return clause.steps if isinstance(clause, Every) else ()


def length_of(task: Task) -> int:
    """Return L: the calls of gold, where a write for every row of a part of a list counts once, and
    what calibration has looked up does not. Of a model's task, calls of one service in a row count
    once.
    """
    if task.author == "model":
        visited = [task.gold[name].service for name in sorted(task.gold)]
        return len(list(groupby(visited)))
    groups = [steps for item in task.clauses.values() if (steps := steps_of(item))]
    calls = len(complied(task).gold) - len(looked_up(task))
    return calls - sum(len(steps) - 1 for steps in groups)


def looked_up(task: Task) -> frozenset[str]:
    """Return the steps of gold that calibration has added."""
    return frozenset(edit.step for edit in task.edits if edit.kind == "lookup")


def _beside_rule(task: Task, names: Sequence[str]) -> set[str]:
    """Return the steps that may call the service of the step before: what a rule is about is read
    right before it, or right after what the same service was asked before.
    """
    found = ruled_of(task)
    if found is None or found[1].place not in names:
        return set()
    at = names.index(found[1].place)
    return set(names[at : at + 2])


def check_words(system: System, task: Task, world: World) -> Rejection | None:
    """Check that the instruction names no service that is not needed, and no internal id."""
    for service in task.world.distractors:
        word = name_in(system, service, task.instruction)
        if word:
            return _no(Reason.NAMES_DISTRACTOR, f"{word!r} of {service}")
    doubled = re.search(r"\b(\w+) \1\b", task.instruction)
    if doubled:
        return _no(Reason.CLUMSY, f"{doubled.group()!r}")
    tokens = set(re.findall(r"[A-Za-z0-9_]+", task.instruction))
    for service, compiled in sorted(world.services.items()):
        for table, entity in sorted(compiled.blueprint.entities.items()):
            if entity.generated_key:
                found = sorted(tokens & set(rows_of(world.initial, service, table)))
                if found:
                    return _no(Reason.REVEALS_ID, found[0])
    return None


def check_demands(task: Task, graph: ToolGraph) -> Rejection | None:
    """Check demands against writes and answer, both ways, and that each states its literals."""
    demanded = {demand.step for demand in task.demands.values()}
    for name in sorted(task.gold):
        shape = _shape(task, graph, name)
        if shape.is_write and name not in demanded:
            return _no(Reason.DEMANDS, f"no demand asks for {name} {shape.service}.{shape.name}")
    if task.answer and _ANSWER not in demanded:
        return _no(Reason.DEMANDS, "no demand asks for the answer")
    if not task.answer and _ANSWER in demanded:
        return _no(Reason.DEMANDS, "a demand asks for an answer that gold does not give")
    for name in sorted(task.gold):
        shape = _shape(task, graph, name)
        spans = [item for item in task.demands.values() if item.step == name]
        for pointer, source in sorted(task.gold[name].arguments.items()):
            parameter = parameter_of(shape, pointer)
            if not shape.is_write or not isinstance(source, FromInstruction):
                continue
            is_name = parameter is not None and parameter.names_row
            if not is_name and not any(
                span.start <= source.start and source.end <= span.end for span in spans
            ):
                return _no(Reason.DEMANDS, f"{name}{pointer} is stated outside its demand")
    return None


def check_writes(task: Task, graph: ToolGraph, gold: Gold) -> Rejection | None:
    """Check that every write of gold changes something."""
    for name in gold.names:
        own = [item for item in gold.records[name].changes if item.cause.startswith("effect:")]
        if _shape(task, graph, name).is_write and not own:
            return _no(Reason.GOAL_ALREADY_TRUE, f"{name} changes nothing")
    return None


def check_revisit(task: Task, graph: ToolGraph, gold: Gold) -> Rejection | None:
    """Check that a read is made again, sees another value, needs to, and that the value is used."""
    again = [name for name in gold.names if task.gold[name].revisit_of is not None]
    if not again:
        return _no(Reason.STALE_GOLD, "no step reads again")
    for name in again:
        problem = _revisit_problem(task, graph, gold, name)
        if problem:
            return _no(Reason.STALE_GOLD, f"{name}: {problem}")
    return None


def _revisit_problem(task: Task, graph: ToolGraph, gold: Gold, name: str) -> str:
    earlier = task.gold[name].revisit_of
    assert earlier is not None
    if earlier not in gold.names or earlier >= name:
        return f"{earlier!r} is no earlier step"
    if task.gold[earlier].service != task.gold[name].service:
        return f"{earlier} reads another service"
    between = gold.names[: gold.names.index(name)]
    for first, fact in _fresh_facts(task, graph, gold, name):
        by_reaction = any(
            change.cause.startswith("reaction:")
            and (change.service, change.table, change.row_id)
            == (fact.row.service, fact.row.table, fact.row.row_id)
            and change.service != gold.records[step].service
            for step in between
            for change in gold.records[step].changes
        )
        is_choice = entity_of(graph, fact.place).fields[fact.place.field].enum is not None
        if not by_reaction or is_choice:
            continue
        observed = [gold.observed[step] for step in between]
        names = other_names(graph, gold.initial, fact)
        if can_be_had(fact.value, first.value, observed, names):
            return f"{fact.place} can be had without reading it again"
        is_shown = any(shows(task.instruction, text) for text in (fact.value, *names))
        return "" if not is_shown else f"the request shows {fact.place}"
    return "it shows no new value that is used and that could not be guessed"


def _fresh_facts(
    task: Task, graph: ToolGraph, gold: Gold, name: str
) -> Iterator[tuple[Known, Known]]:
    """Yield first and second reading of each value that a revisit shows anew and that is used."""
    earlier = task.gold[name].revisit_of
    assert earlier is not None
    before = {(item.row, item.place.field): item for item in known_of(task, graph, gold, earlier)}
    places = {place.path for place in _places_used(task) if place.step == name}
    for fact in known_of(task, graph, gold, name):
        first = before.get((fact.row, fact.place.field))
        if first is not None and first.value != fact.value and fact.path in places:
            yield first, fact


def check_provenance(task: Task, graph: ToolGraph, gold: Gold) -> Rejection | None:
    """Check that every step needs an observation, and that nothing else shows its value.

    A value may stand elsewhere too when it is the key of the same referent: when it means the same
    there (both are, or link to, the same field of the same table). The echo of a caller's own
    argument is no second source. What a rule looks at, and what a read of a model's task does, may
    be of a row that the request names.
    """
    ruled = ruled_of(task)
    by_name = set() if ruled is None else {ruled[1].source.step}
    for name in (*gold.names[1:], _ANSWER):
        sources = list(_sources(task, name))
        places = [place for _pointer, source in sources for place in observations_of(source)]
        if task.author == "model" and name != _ANSWER and not _shape(task, graph, name).is_write:
            by_name.add(name)
        if not places and name not in by_name and (name != _ANSWER or task.answer):
            return _no(Reason.SHOWN_ELSEWHERE, f"{name} needs no observation")
        for pointer, source in sources:
            if isinstance(source, FromRule):
                continue  # what a rule looks at may be seen in several answers
            for rows in observations_of(source):
                place = concrete(rows, gold.observed[rows.step])
                problem = _other_source(task, graph, gold, name, place)
                if problem:
                    return _no(Reason.SHOWN_ELSEWHERE, f"{name}{pointer}: {problem}")
    return None


def _other_source(
    task: Task, graph: ToolGraph, gold: Gold, user: str, place: FromObservation
) -> str:
    _found, value = at_path(gold.observed[place.step], place.path)
    if shows(task.instruction, value):
        return f"the instruction shows {value!r}"
    here = {item.path: item for item in known_of(task, graph, gold, place.step)}
    own = here.get(place.path)
    for step in gold.names:
        if step >= user and user != _ANSWER:
            break
        arguments = [leaf for _path, leaf in leaves(gold.records[step].arguments)]
        if step == place.step or value in arguments:
            continue
        if not shows(gold.observed[step], value):
            continue
        meanings = {item.path: item.means for item in known_of(task, graph, gold, step)}
        for path, leaf in leaves(gold.observed[step]):
            if not shows([leaf], value):
                continue
            if own is None or leaf != value or meanings.get(path) != own.means:
                return f"{step} shows {value!r} too"
    return ""


def check_reads(task: Task, graph: ToolGraph, gold: Gold) -> Rejection | None:
    """Check that every read gives something that is used, or is the first reading of a revisit."""
    used = {place.step for place in _places_used(task)}
    used |= {step.revisit_of for step in task.gold.values() if step.revisit_of is not None}
    for name in gold.names:
        if not _shape(task, graph, name).is_write and name not in used:
            return _no(Reason.UNUSED_READ, f"{name} {task.gold[name].tool}")
    return None


def unstated_values(task: Task, graph: ToolGraph) -> Iterator[tuple[str, str]]:
    """Yield (step, pointer) of each argument of a write that is a constant and no default.

    A call that a rule allows instead of what was asked has its constants from the rule.
    """
    ruled = ruled_of(task)
    for name in sorted(task.gold):
        if ruled is not None and name == ruled[1].place and not ruled[1].allows:
            continue
        shape = _shape(task, graph, name)
        for pointer, source in sorted(task.gold[name].arguments.items()):
            parameter = parameter_of(shape, pointer)
            default = None if parameter is None else parameter.schema.get("default")
            if shape.is_write and isinstance(source, FromDefault) and source.value != default:
                yield name, pointer


def check_alone(
    task: Task, graph: ToolGraph, gold: Gold, compared: Set[tuple[str, str]]
) -> Rejection | None:
    """Check that what is read again fills an argument or the answer by itself.

    A free text may hold the first reading beside the second: whoever writes both passes without
    knowing which one is right.

    Args:
        task: the task.
        graph: its tools.
        gold: the run of gold.
        compared: (step, pointer) of the arguments that a criterion compares by value.
    """
    for again in (name for name in gold.names if task.gold[name].revisit_of is not None):
        fresh = {(again, fact.path) for _first, fact in _fresh_facts(task, graph, gold, again)}
        found_by_it: set[str] = set()
        is_alone = False
        for name in (*gold.names, _ANSWER):
            for pointer, source in _sources(task, name):
                places = observations_of(source)
                if not any(
                    (place.step, place.path) in fresh or place.step in found_by_it
                    for place in places
                ):
                    continue
                is_alone |= name == _ANSWER or (name, pointer) in compared
                if name != _ANSWER and not _shape(task, graph, name).is_write:
                    found_by_it.add(name)
        if not is_alone:
            return _no(Reason.STALE_GOLD, f"{again}: its new value goes into free text alone")
    return None


def known_of(task: Task, graph: ToolGraph, gold: Gold, name: str) -> list[Known]:
    """Return what a step's answer shows of rows, those in long lists included."""
    shape = _shape(task, graph, name)
    return list(known_in(graph, shape, name, gold.observed[name], every_row=True))


def parameter_of(shape: ToolShape, pointer: str) -> Parameter | None:
    """Return the parameter at a pointer; later elements of a list are like the first."""
    plain = re.sub(r"/\d+(?=/|$)", "/0", pointer)
    return next((item for item in shape.parameters if item.pointer in (pointer, plain)), None)


def _shape(task: Task, graph: ToolGraph, name: str) -> ToolShape:
    step = task.gold[name]
    return graph.tools[step.service, step.tool]


def _sources(task: Task, name: str) -> Iterator[tuple[str, Provenance]]:
    if name == _ANSWER:
        yield from ((f"/{field}", source) for field, source in sorted(task.answer.items()))
    else:
        yield from sorted(task.gold[name].arguments.items())


def _places_used(task: Task) -> Iterator[FromObservation]:
    for name in (*sorted(task.gold), _ANSWER):
        for _pointer, source in _sources(task, name):
            yield from observations_of(source)


def _no(reason: Reason, detail: str) -> Rejection:
    return Rejection(reason=reason, detail=detail)
