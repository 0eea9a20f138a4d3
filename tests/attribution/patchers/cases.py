"""One known defect of each component, as a round finds it, with the operations that mend it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from attribution.accept import Example, decide
from attribution.evidence import split_place
from attribution.modes import failure_modes
from attribution.patchers.model.config import ModelPatcherConfig
from attribution.records import AcceptanceRecord, Evidence, FailureMode, Party
from attribution.swap import body_of
from components.records.patch import Patch
from components.records.system import System
from tests.attribution.composed import composed_system
from tests.attribution.playing import NO_SLIPS, attribute_all, only, play_all, with_defect
from tests.model.served import FREE

Steps = list[dict[str, Any]]
"""A JSON Patch as a model writes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A system with one defect, and the failure mode that a round made of it."""

    system: System
    mode: FailureMode
    evidence: tuple[Evidence, ...]
    examples: tuple[Example, ...]
    right: Steps
    """Mends it."""

    def decide(self, patch: Patch) -> AcceptanceRecord:
        """What the gates say."""
        return decide(self.system, patch, self.examples)


@cache
def clean() -> System:
    """Two tasks are enough for every defect, and soon played."""
    system = composed_system(3)
    return only(system, *sorted(system.tasks)[:2])


@cache
def case(party: Party) -> Case:
    """The defect of a component."""
    artifact, right, wrong = _defect(party)
    steps = [(step["op"], step["path"], step.get("value")) for step in wrong]
    system = with_defect(clean(), artifact, *steps)
    played = play_all(system, 1, NO_SLIPS)
    verdicts = attribute_all(system, played)
    modes = failure_modes(verdicts, [scored for _, scored in played])
    (mode,) = [
        item for item in modes if item.party is party and split_place(item.place)[0] == artifact
    ]
    found = {trajectory.rollout_id: (trajectory, scored) for trajectory, scored in played}
    return Case(
        system=system,
        mode=mode,
        evidence=tuple(fact for item in verdicts for fact in item.evidence),
        examples=tuple(
            Example(trajectory=found[key][0], scored=found[key][1]) for key in mode.rollouts
        ),
        right=right,
    )


def _defect(party: Party) -> tuple[str, Steps, Steps]:
    """Return the artifact, what mends it, and what breaks it."""
    task_id = sorted(clean().tasks)[0]
    match party:
        case Party.ENVIRONMENT:
            service, tool, effect = _a_writing_tool()
            at = f"/tools/{tool}/effects/{effect}/when"
            return f"blueprint/{service}", [_put(at, True)], [_put(at, False)]
        case Party.TASK:
            name, body = f"task/{task_id}", body_of(clean(), f"task/{task_id}")
            text = body["instruction"]
            return name, [_put("/instruction", text)], [_put("/instruction", text[::-1])]
        case Party.HARNESS:
            text = clean().harness.observation
            short = "<tool_response>\n{{ body[:40] }}\n</tool_response>"
            return "harness", [_put("/observation", text)], [_put("/observation", short)]
        case _:
            name = f"rubric/{task_id}"
            criteria = body_of(clean(), name)["criteria"]
            key = min(key for key in criteria if key.startswith("row:"))
            at = "/criteria/" + key.replace("~", "~0").replace("/", "~1")
            added = {"op": "add", "path": at, "value": criteria[key]}
            return name, [added], [{"op": "remove", "path": at}]


def _put(path: str, value: Any) -> dict[str, Any]:
    return {"op": "replace", "path": path, "value": value}


def _a_writing_tool() -> tuple[str, str, str]:
    for certificate in clean().reference.certificates.values():
        for call in certificate.gold_run.values():
            for change in call.changes:
                if change.cause.startswith("effect:") and change.before is not None:
                    return call.service, call.tool, change.cause.partition(":")[2]
    raise AssertionError("every composed task writes")


def patcher_config(base_url: str = "http://127.0.0.1:9/v1", **changes: Any) -> ModelPatcherConfig:
    """A configuration for tests."""
    return ModelPatcherConfig.model_validate(
        {**FREE, "base_url": base_url, "revisions": 1, **changes}
    )
