"""Known faults, the rules switched off, and a scripted model that answers with the right patch or
with wrong ones: how many of each are kept.

    python -m tests.attribution.patchers.measure [FAULTS_A_COMPONENT] [TASKS] [SEED]

prints a line a fault and the counts as JSON. A wrong patch is right in part: it slips in one value,
brings a second fault along, only silences what speaks against the place, or asks for less.
"""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import jsonpointer

from attribution.accept import Example, accepted_system, decide
from attribution.attribute import attribute_trajectory
from attribution.change import Change, bind
from attribution.evidence import same_place, split_place
from attribution.faults.catalog import all_kinds
from attribution.faults.kinds import Clean, When, plant
from attribution.modes import failure_modes
from attribution.patchers.model.patcher import ModelPatcher
from attribution.patchers.model.records import Ended
from attribution.records import AcceptanceRecord, Evidence, FailureMode
from attribution.swap import body_of, swap
from components.errors import SelvageError
from components.model.recording import Recording
from components.model.records import Request, Tried
from components.records.patch import Component, Patch
from components.records.system import System
from loop.bench_attribution.planting import Ground, Instance, planted_kind
from tests.attribution.composed import composed_system
from tests.attribution.patchers.cases import Steps, patcher_config

MOST_WRONG = 4
"""Wrong patches of each sort and fault, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """One fault as a round meets it."""

    clean: System
    system: System
    fault: Patch
    kind: str
    mode: FailureMode
    evidence: tuple[Evidence, ...]
    examples: tuple[Example, ...]


def known_faults(clean: System, per_component: int, seed: int) -> Iterator[Known]:
    """Yield faults of kinds in a drawn order that are live, found, and blamed in their artifact."""
    for component in Component:
        kinds = [k for k in all_kinds() if k.component is component and k.when is When.AFTER]
        random.Random(f"{seed}:{component.value}").shuffle(kinds)
        count = 0
        for kind in kinds:
            if count == per_component:
                break
            ground = Ground(system=clean, group_size=2, per_kind=1, seed=seed)
            for instance in planted_kind(ground, kind).instances:
                found = _known(clean, instance)
                if found is not None:
                    count += 1
                    yield found


def _known(clean: System, instance: Instance) -> Known | None:
    (fault,) = instance.faults
    system = plant(clean, instance.faults)
    rollouts = {item.trajectory.rollout_id: item for item in instance.rollouts}
    verdicts = [
        attribute_trajectory(system, item.trajectory, item.scored) for item in rollouts.values()
    ]
    modes = failure_modes(verdicts, [item.scored for item in rollouts.values()])
    for mode in modes:
        if same_place(mode.place, fault.place):
            return Known(
                clean=clean,
                system=system,
                fault=fault,
                kind=instance.kind,
                mode=mode,
                evidence=tuple(fact for item in verdicts for fact in item.evidence),
                examples=tuple(
                    Example(trajectory=rollouts[key].trajectory, scored=rollouts[key].scored)
                    for key in mode.rollouts
                ),
            )
    return None


def right_patch(known: Known) -> Steps:
    """Return the operations that put back what the fault touched."""
    clean, faulty = (body_of(item, known.fault.artifact) for item in (known.clean, known.system))
    paths = dict.fromkeys(step.path for step in known.fault.operations if step.op != "test")
    missing, steps = object(), []
    for path in paths:
        wanted = jsonpointer.resolve_pointer(clean, path, missing)
        there = jsonpointer.resolve_pointer(faulty, path, missing) is not missing
        if wanted is missing and there:
            steps.append({"op": "remove", "path": path})
        elif wanted is not missing:
            steps.append({"op": "replace" if there else "add", "path": path, "value": wanted})
    return steps


def wrong_patches(known: Known, right: Steps, rng: random.Random) -> Iterator[tuple[str, Steps]]:
    """Yield wrong patches, each with its sort."""
    slips = [
        [{**step, "value": value} if place == number else step for number, step in enumerate(right)]
        for place, chosen in enumerate(right)
        if "value" in chosen
        for value in _slips(chosen["value"])
    ]
    for steps in _some(rng, slips):
        yield "one value slips", steps
    riders = list(_riders(known))
    for rider in _some(rng, riders):
        yield "another fault rides along", [*right, *rider]
    for steps in _some(rng, list(_silences(known))):
        yield "only silences", steps
    for steps in _some(rng, list(_weakenings(known))):
        yield "asks for less", [*right, *steps]
        yield "asks for less, mends nothing", steps


def _some(rng: random.Random, items: list[Any]) -> list[Any]:
    return rng.sample(items, min(MOST_WRONG, len(items)))


def _slips(value: Any) -> Iterator[Any]:
    """Yield the value with one of its leaves a little off."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, (int, float)):
        yield value + 1
    elif isinstance(value, str):
        yield value[:-1] if value else "x"
    elif isinstance(value, dict):
        for key, item in value.items():
            yield {other: one for other, one in value.items() if other != key}
            for slip in _slips(item):
                yield {**value, key: slip}
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield value[:number] + value[number + 1 :]
            for slip in _slips(item):
                yield [*value[:number], slip, *value[number + 1 :]]


def _riders(known: Known) -> Iterator[Steps]:
    """Yield other faults of the same artifact."""
    for kind in all_kinds():
        if kind.component is not known.fault.component or kind.key == known.kind:
            continue
        if kind.when is not When.AFTER:
            continue
        changes = kind.places(Clean(system=known.clean, rng=random.Random(kind.key)))
        for change, _ in zip(changes, range(30), strict=False):
            if change.artifact == known.fault.artifact:
                yield [_step(operation) for operation in change.operations]
                break


def _silences(known: Known) -> Iterator[Steps]:
    """Yield the place, and what stands around it, taken out."""
    _artifact, keys = split_place(known.mode.place)
    for number in range(1, len(keys) + 1):
        path = "/" + "/".join(key.replace("~", "~0").replace("/", "~1") for key in keys[:number])
        yield [{"op": "remove", "path": path}]
        yield [{"op": "replace", "path": path, "value": {}}]
        yield [{"op": "replace", "path": path, "value": []}]


def _weakenings(known: Known) -> Iterator[Steps]:
    """Yield what makes the part ask for less."""
    body = body_of(known.clean, known.fault.artifact)

    def put(path: str, value: Any) -> Steps:
        return [{"op": "replace", "path": path, "value": value}]

    match known.fault.artifact.partition("/")[0]:
        case "blueprint":
            for tool, item in list(body["tools"].items())[:3]:
                for check in item["checks"]:
                    yield put(f"/tools/{tool}/checks/{check}/holds", True)
                for effect in item["effects"]:
                    yield put(f"/tools/{tool}/effects/{effect}/when", False)
        case "seed":
            for table in body["tables"]:
                yield put(f"/tables/{table}", {})
        case "reactions":
            for name in body:
                yield [{"op": "remove", "path": f"/{name}"}]
        case "task":
            answer = known.clean.reference.certificates[known.fault.artifact[5:]].gold_answer
            yield put("/instruction", f"{body['instruction']} {json.dumps(dict(answer))}")
            yield put("/answer", {})
            yield put("/demands", {})
            for step in body["gold"]:
                yield [{"op": "remove", "path": f"/gold/{step}"}]
            for demand in body["demands"]:
                yield [{"op": "remove", "path": f"/demands/{demand}"}]
        case "rubric":
            for name in body["criteria"]:
                path = name.replace("~", "~0").replace("/", "~1")
                yield [{"op": "remove", "path": f"/criteria/{path}"}]
                yield put(f"/criteria/{path}/weight", 1e-6)
            yield put("/criteria", {})
        case "settings":
            yield put("/pass_threshold", 0.1)
            yield put("/equivalence/number_tolerance", 1e9)
        case _:
            for name in body["limits"]:
                yield put(f"/limits/{name}", 100 * body["limits"][name])
            for name in ("system_prompt", "user_prompt"):
                yield put(f"/{name}", "Answer as you like.")
            yield put("/hidden_tools", ["helpdesk__assign_ticket", "directory__get_employee"])
            yield put("/tool_exposure", "needed")


def _step(operation: tuple[str, str, Any]) -> dict[str, Any]:
    op, path, value = operation
    return {"op": op, "path": path} | ({} if op == "remove" else {"value": value})


def ask(known: Known, steps: Steps) -> tuple[Ended, str, System | None]:
    """Have a model that answers so asked, and return what ended it, and the system after a patch
    that was kept."""
    text = f"```json\n{json.dumps(steps)}\n```"

    def door(_request: Request, _max_tokens: int) -> Tried:
        return Tried(status=200, text=text, prompt_tokens=1, answer_tokens=1)

    def gates(patch: Patch) -> AcceptanceRecord:
        return decide(known.system, patch, known.examples)

    patcher = ModelPatcher(patcher_config(revisions=0), Recording(None), door)
    tried = patcher.mend(known.system, known.mode, known.evidence, (), gates)
    problem = "; ".join(answer.problem for answer in tried.attempt.answers)
    if tried.attempt.ended is not Ended.ACCEPTED:
        return tried.attempt.ended, problem, None
    patch, record = tried.decided[-1]
    return Ended.ACCEPTED, problem, accepted_system(known.system, patch, record)


def is_same(known: Known, after: System) -> bool:
    """Return whether the artifact means what the clean one means: the space at the end of a
    template, and the sentence that tells of a criterion, are nobody's business."""
    name = known.fault.artifact
    return bool(_meant(body_of(after, name)) == _meant(body_of(known.clean, name)))


def _meant(body: Any) -> Any:
    if isinstance(body, dict):
        return {
            key: _meant(item)
            for key, item in body.items()
            if not (key == "text" and "kind" in body and "weight" in body)
        }
    return body.rstrip() if isinstance(body, str) and "{{" in body else body


def measure(per_component: int, num_tasks: int, seed: int) -> dict[str, Any]:
    """Print what becomes of every patch, and return the counts."""
    counts: Counter[str] = Counter()
    by_sort: dict[str, Counter[str]] = {}
    for known in known_faults(composed_system(num_tasks), per_component, seed):
        right = right_patch(known)
        ended, problem, after = ask(known, right)
        is_kept = after is not None and is_same(known, after)
        counts["faults"] += 1
        counts["right kept"] += is_kept
        print(f"{known.kind} at {known.mode.place}: right patch {ended.value} {problem}")
        rng = random.Random(f"{seed}:{known.kind}")
        for sort, steps in wrong_patches(known, right, rng):
            if not _is_wrong(known, steps):
                continue
            after = ask(known, steps)[2]
            tally = by_sort.setdefault(sort, Counter())
            tally["tried"] += 1
            if after is not None:
                tally["kept"] += 1
                print(f"  KEPT {sort}: {json.dumps(steps)[:3000]}")
    return {
        "counts": dict(counts),
        "wrong": {sort: dict(tally) for sort, tally in sorted(by_sort.items())},
    }


def _is_wrong(known: Known, steps: Steps) -> bool:
    """Return whether a patch leaves the artifact another than the clean one, or does not apply."""
    operations = tuple((item["op"], item["path"], item.get("value")) for item in steps)
    change = Change(
        artifact=known.fault.artifact, operations=operations, reason="", place=known.mode.place
    )
    try:
        after = swap(known.system, bind(known.system, change))
    except (SelvageError, ValueError, jsonpointer.JsonPointerException):
        return False  # nobody has to refuse what cannot be applied
    return not is_same(known, after)


if __name__ == "__main__":
    numbers = [int(text) for text in sys.argv[1:]] + [5, 8, 0][len(sys.argv) - 1 :]
    print(json.dumps(measure(*numbers), indent=1))
