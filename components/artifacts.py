"""A system seen as named artifacts, so that ledger, patches and faults address the same things.

Names: `blueprint/<service>`, `seed/<service>`, `code/<service>`, `reactions` (environment);
`task/<id>`, `retired` (task); `harness` (harness); `settings`, `rubric/<id>` (evaluator). The
reference has `spec/<service>`, `contract` and `certificate/<id>`; it can be read here but not
replaced.
"""

from __future__ import annotations

from typing import Any

from components.records.base import to_json
from components.records.frozen import FrozenDict, content_hash
from components.records.patch import Component
from components.records.system import System

Artifacts = dict[str, Any]
"""Artifact name -> plain JSON."""


def artifacts_of(system: System, component: Component) -> Artifacts:
    """Return the artifacts of one component as plain JSON, by name."""
    match component:
        case Component.ENVIRONMENT:
            environment = system.environment
            return {
                **_named("blueprint", environment.blueprints),
                **_named("seed", environment.seeds),
                **_named("code", environment.code),
                "reactions": {name: to_json(item) for name, item in environment.reactions.items()},
            }
        case Component.TASK:
            return {**_named("task", system.tasks), "retired": dict(system.retired)}
        case Component.HARNESS:
            return {"harness": to_json(system.harness)}
        case Component.EVALUATOR:
            return {
                "settings": to_json(system.evaluator.settings),
                **_named("rubric", system.evaluator.rubrics),
            }


def reference_artifacts(system: System) -> Artifacts:
    """Return what nobody owns, as plain JSON, by name."""
    return {
        **_named("spec", system.reference.specs),
        "contract": to_json(system.reference.contract),
        **_named("certificate", system.reference.certificates),
    }


def artifact_hashes(system: System, component: Component) -> dict[str, str]:
    """Return the content hash of each artifact of one component."""
    return {name: content_hash(body) for name, body in artifacts_of(system, component).items()}


def component_versions(system: System) -> FrozenDict[str, str]:
    """Return one version (content hash) a component, for records that name what they ran with."""
    return FrozenDict(
        {kind.value: content_hash(artifact_hashes(system, kind)) for kind in Component}
    )


def system_from_artifacts(components: dict[Component, Artifacts], reference: Artifacts) -> System:
    """Build a system from artifacts, checking each against its record."""
    environment = components[Component.ENVIRONMENT]
    evaluator = components[Component.EVALUATOR]
    task = components[Component.TASK]
    body = {
        "environment": {
            "blueprints": _unnamed("blueprint", environment),
            "seeds": _unnamed("seed", environment),
            "code": _unnamed("code", environment),
            "reactions": environment["reactions"],
        },
        "tasks": _unnamed("task", task),
        "retired": task["retired"],
        "harness": components[Component.HARNESS]["harness"],
        "evaluator": {
            "settings": evaluator["settings"],
            "rubrics": _unnamed("rubric", evaluator),
        },
        "reference": {
            "specs": _unnamed("spec", reference),
            "contract": reference["contract"],
            "certificates": _unnamed("certificate", reference),
        },
    }
    return System.model_validate(body)


def _named(prefix: str, records: FrozenDict[str, Any]) -> Artifacts:
    return {f"{prefix}/{name}": to_json(record) for name, record in records.items()}


def _unnamed(prefix: str, artifacts: Artifacts) -> dict[str, Any]:
    start = prefix + "/"
    return {name[len(start) :]: body for name, body in artifacts.items() if name.startswith(start)}
