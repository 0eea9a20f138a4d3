"""Repairs of the evaluator: criteria compiled again from the certified run, and settings as
their samples need them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from attribution.change import Change, put
from attribution.evidence import pointer_of, split_place
from attribution.interventions.rescoring import reference_rubric
from attribution.interventions.runs import world_of
from attribution.swap import body_of
from components.errors import SynthesisError
from components.records.base import to_json
from components.records.rubric import EvaluatorSettings
from components.records.system import System

_EXACT: dict[str, Any] = to_json(EvaluatorSettings())
"""What the samples of `rescoring.broken_settings` need: every criterion, and equality up to case
and space.
"""


def evaluator_changes(system: System, place: str) -> Iterator[Change]:
    """Yield candidate repairs of one place of the evaluator, smallest first."""
    artifact, parts = split_place(place)
    family, _, name = artifact.partition("/")
    body = (
        body_of(system, artifact)
        if artifact == "settings" or name in system.evaluator.rubrics
        else None
    )
    if family == "settings" and parts:
        value = _EXACT
        for part in parts:
            value = value[part]
        yield Change(
            artifact=artifact,
            operations=(put(body, pointer_of(*parts), value),),
            reason=f"with {parts[-1]} as it is, runs are decided wrongly",
            place=place,
        )
        return
    task = system.tasks.get(name)
    certificate = system.reference.certificates.get(name)
    if family != "rubric" or task is None or certificate is None or body is None:
        return
    try:
        rubric = reference_rubric(task, certificate, world_of(system, task.world))
    except SynthesisError:
        return
    if rubric is None:
        return
    if len(parts) == 2:
        pointer = pointer_of(*parts)
        criterion = rubric.criteria.get(parts[1])
        if criterion is None:
            yield Change(
                artifact=artifact,
                operations=(("remove", pointer, None),),
                reason=f"the certified run neither gives nor meets it: {parts[1]}",
                place=place,
            )
        else:
            yield Change(
                artifact=artifact,
                operations=(put(body, pointer, to_json(criterion)),),
                reason=f"compiled again from the certified run: {criterion.text}",
                place=place,
            )
    yield Change(
        artifact=artifact,
        operations=(("replace", "/criteria", to_json(rubric)["criteria"]),),
        reason="compiled again from the certified run",
        place=place,
    )
