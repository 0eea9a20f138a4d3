"""Systems with one artifact swapped, in memory: what an intervention runs on.

Every record that is not touched is shared, so that compiled services and worlds are shared too and
ten swaps cost what they change. What comes out is what the system would be if it were read from
its patched artifacts.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import jsonpatch
import jsonpointer

from attribution.kept import kept
from components.errors import SynthesisError
from components.records.base import Record, to_json
from components.records.blueprint import Blueprint, SeedData
from components.records.code import CodeService
from components.records.frozen import FrozenDict, content_hash
from components.records.harness import HarnessSettings
from components.records.patch import Component, Patch, PatchOperation
from components.records.rubric import EvaluatorSettings, Rubric
from components.records.system import System
from components.records.task import Task
from components.records.world import Reaction

_FAMILIES: dict[str, tuple[Component, type[Record]]] = {
    "blueprint": (Component.ENVIRONMENT, Blueprint),
    "seed": (Component.ENVIRONMENT, SeedData),
    "code": (Component.ENVIRONMENT, CodeService),
    "reactions": (Component.ENVIRONMENT, Reaction),
    "task": (Component.TASK, Task),
    "retired": (Component.TASK, Task),
    "harness": (Component.HARNESS, HarnessSettings),
    "settings": (Component.EVALUATOR, EvaluatorSettings),
    "rubric": (Component.EVALUATOR, Rubric),
}
"""First part of an artifact's name -> owner, and the record that it (or each of its values) is."""


_LONGEST_REASON = 160


def owner_of(artifact: str) -> Component:
    """Return the component that owns an artifact.

    Raises:
        SynthesisError: nobody owns it (a spec, the contract, a certificate).
    """
    family = artifact.partition("/")[0]
    if family not in _FAMILIES:
        raise SynthesisError(f"{artifact!r} is no artifact that a patch may touch")
    return _FAMILIES[family][0]


def body_of(system: System, artifact: str) -> Any:
    """Return one artifact as plain JSON.

    Raises:
        SynthesisError: there is no such artifact.
    """
    owner_of(artifact)
    family = artifact.partition("/")[0]
    record = _record(system, artifact)
    match family:
        case "reactions":
            return {key: to_json(item) for key, item in record.items()}
        case "retired":
            return dict(record)
    return to_json(record)


def _record(system: System, artifact: str) -> Any:
    """Return the record, or the mapping of records, that an artifact is."""
    family, _, name = artifact.partition("/")
    environment, evaluator = system.environment, system.evaluator
    whole: dict[str, Any] = {
        "reactions": environment.reactions,
        "retired": system.retired,
        "harness": system.harness,
        "settings": evaluator.settings,
    }
    if family in whole:
        return whole[family]
    stores: dict[str, FrozenDict[str, Any]] = {
        "blueprint": environment.blueprints,
        "seed": environment.seeds,
        "code": environment.code,
        "task": system.tasks,
        "rubric": evaluator.rubrics,
    }
    if name not in stores[family]:
        raise SynthesisError(f"no artifact {artifact!r}")
    return stores[family][name]


def _known(system: System, artifact: str) -> tuple[Any, str]:
    """Return an artifact as plain JSON, which nobody may change, and its hash: worked out once."""
    owner_of(artifact)
    return kept("body", (_record(system, artifact),), lambda: _hashed(body_of(system, artifact)))


def _hashed(body: Any) -> tuple[Any, str]:
    return body, content_hash(body)


def is_changed(before: System, after: System, artifact: str) -> bool:
    """Return whether an artifact of two systems differs as JSON."""
    return bool(body_of(after, artifact) != _known(before, artifact)[0])


def make_patch(
    system: System,
    artifact: str,
    operations: Iterable[tuple[str, str, Any]],
    reason: str,
    place: str,
) -> Patch:
    """Return a patch bound to the artifact as it is, with a `test` before everything that it
    replaces or removes.

    Args:
        system: the system that the patch is for.
        artifact: name of the artifact.
        operations: (`add` | `replace` | `remove`, JSON Pointer, value).
        reason: what it mends, in one sentence.
        place: where the defect is.
    """
    body, base = _known(system, artifact)
    steps = list(operations)
    tests = []
    for op, path, _value in steps:
        old = jsonpointer.resolve_pointer(body, path, None)
        if op == "add" and old is None:
            parent = path.rpartition("/")[0]
            old, path = jsonpointer.resolve_pointer(body, parent, None), parent
        tests.append(PatchOperation(op="test", path=path, value=old))
    made = [
        PatchOperation.model_validate({"op": op, "path": path, "value": value})
        for op, path, value in steps
    ]
    unique = list({test.path: test for test in tests}.values())
    patch_id = "p_" + content_hash([artifact, base, [to_json(item) for item in made]])[:12]
    return Patch(
        patch_id=patch_id,
        component=owner_of(artifact),
        artifact=artifact,
        base_hash=base,
        operations=(*unique, *made),
        reason=reason,
        place=place,
    )


def swap(system: System, patch: Patch) -> System:
    """Return the system with one patch applied; everything that it does not touch is shared.

    Raises:
        SynthesisError: the artifact is missing, its hash is not the patch's base, a `test` fails,
            or the result is no valid artifact. Nothing is changed.
    """
    _body, base = _known(system, patch.artifact)
    if owner_of(patch.artifact) is not patch.component or base != patch.base_hash:
        raise SynthesisError(
            f"patch {patch.patch_id}: {patch.artifact} is not what it was made for"
        )
    operations = [
        {
            key: value
            for key, value in to_json(step).items()
            if key != "value" or step.op != "remove"
        }
        for step in patch.operations
    ]
    try:
        body = body_of(system, patch.artifact)  # a copy of our own
        changed = jsonpatch.apply_patch(body, operations, in_place=True)
        return _with_body(system, patch.artifact, changed)
    except (jsonpatch.JsonPatchException, jsonpointer.JsonPointerException, ValueError) as error:
        why = " ".join(str(error).split())[:_LONGEST_REASON]  # the artifact may be in it
        raise SynthesisError(f"patch {patch.patch_id} does not apply: {why}") from error


def _with_body(system: System, artifact: str, body: Any) -> System:
    family, _, name = artifact.partition("/")
    kind = _FAMILIES[family][1]
    environment, evaluator = system.environment, system.evaluator
    match family:
        case "retired":
            return system.model_copy(update={"retired": FrozenDict[str, str](body)})
        case "harness":
            return system.model_copy(update={"harness": kind.model_validate(body)})
        case "settings":
            kept = evaluator.model_copy(update={"settings": kind.model_validate(body)})
            return system.model_copy(update={"evaluator": kept})
        case "rubric":
            rubrics = _with(evaluator.rubrics, name, kind.model_validate(body))
            kept = evaluator.model_copy(update={"rubrics": rubrics})
            return system.model_copy(update={"evaluator": kept})
        case "task":
            tasks = _with(system.tasks, name, kind.model_validate(body))
            return system.model_copy(update={"tasks": tasks})
        case "reactions":
            reactions = FrozenDict({key: kind.model_validate(item) for key, item in body.items()})
            update: dict[str, Any] = {"reactions": reactions}
        case "blueprint":
            update = {"blueprints": _with(environment.blueprints, name, kind.model_validate(body))}
        case "code":
            update = {"code": _with(environment.code, name, kind.model_validate(body))}
        case _:
            update = {"seeds": _with(environment.seeds, name, kind.model_validate(body))}
    return system.model_copy(update={"environment": environment.model_copy(update=update)})


def _with(store: FrozenDict[str, Any], name: str, value: Any) -> FrozenDict[str, Any]:
    return FrozenDict({**store, name: value})
