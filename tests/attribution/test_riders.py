"""A repair that is needed, with something wrong beside it: each rider is refused, and says why."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any

import pytest

from attribution.accept import decide
from attribution.faults.catalog import all_kinds
from attribution.faults.kinds import Clean
from attribution.records import AcceptanceRecord
from attribution.swap import body_of, make_patch
from components.records.frozen import FrozenDict
from components.records.system import System
from tests.attribution.composed import composed_system
from tests.attribution.hand_made import bare_system
from tests.attribution.playing import only, with_defect

Operation = tuple[str, str, Any]


def clean() -> System:
    return composed_system(3)


def task_id() -> str:
    return min(clean().tasks)


def decided(artifact: str, place: str, broken: Operation, *steps: Operation) -> AcceptanceRecord:
    system = with_defect(clean(), artifact, broken)
    patch = make_patch(system, artifact, steps, "a try", f"{artifact}#{place}")
    return decide(system, patch, [])


def reaction() -> tuple[str, str, str, Operation, Operation, Operation]:
    first, second = sorted(clean().environment.reactions)[:2]
    at = f"/{first}/on/when"
    when = body_of(clean(), "reactions")[first]["on"]["when"]
    broken, repair = ("replace", at, False), ("replace", at, when)
    return "reactions", f"/{first}", "beside", broken, repair, ("remove", f"/{second}", None)


def half_of_a_reaction() -> tuple[str, str, str, Operation, Operation, Operation]:
    artifact, place, _check, broken, repair, _rider = reaction()
    return artifact, place, "touched", broken, repair, ("replace", f"{place}/on/event", "delete")


def other_tool() -> tuple[str, str, str, Operation, Operation, Operation]:
    for certificate in clean().reference.certificates.values():
        for call in certificate.gold_run.values():
            for change in call.changes:
                if change.cause.startswith("effect:"):
                    artifact = f"blueprint/{call.service}"
                    at = f"/tools/{call.tool}"
                    when = f"{at}/effects/{change.cause.partition(':')[2]}/when"
                    other = min(set(body_of(clean(), artifact)["tools"]) - {call.tool})
                    rider: Operation = ("replace", f"/tools/{other}/result", {})
                    return (
                        artifact, f"{at}/effects", "beside", ("replace", when, False),
                        ("replace", when, True), rider,
                    )  # fmt: skip
    raise AssertionError("every composed task writes")


def seed_row() -> tuple[str, str, str, Operation, Operation, Operation]:
    task = clean().tasks[task_id()]
    service = next(
        call.service
        for call in clean().reference.certificates[task_id()].gold_run.values()
        if not any(key.startswith(call.service) for key in task.world.overrides)
    )
    tables = body_of(clean(), f"seed/{service}")["tables"]
    table = max(tables, key=lambda name: len(tables[name]))
    first, second = sorted(tables[table])[:2]
    field = next(key for key, value in tables[table][first].items() if isinstance(value, str))
    wrong = [("replace", f"/tables/{table}/{row}/{field}", "zz") for row in (first, second)]
    repair = ("replace", f"/tables/{table}/{first}/{field}", tables[table][first][field])
    return f"seed/{service}", f"/tables/{table}/{first}", "touched", wrong[0], repair, wrong[1]


def weight() -> tuple[str, str, str, Operation, Operation, Operation]:
    artifact = f"rubric/{task_id()}"
    criteria = body_of(clean(), artifact)["criteria"]
    at = "/criteria/" + min(name for name in criteria if name.startswith("row:"))
    broken, repair = ("replace", f"{at}/count", 7), ("replace", f"{at}/count", 1)
    return artifact, at, "touched", broken, repair, ("replace", f"{at}/weight", 1e-6)


def lower_limit() -> tuple[str, str, str, Operation, Operation, Operation]:
    artifact, place, _check, broken, repair, _rider = one_tool_lies()
    rider: Operation = ("replace", "/limits/max_context_chars", 60_000)
    return artifact, place, "limits", broken, repair, rider


def one_tool_lies() -> tuple[str, str, str, Operation, Operation, Operation]:
    whole = clean().harness.observation
    broken = ("replace", "/observation", whole.replace("{{ body }}", "{{ body[:40] }}"))
    lie = whole.replace("{{ body }}", "{{ '{}' if '__set_leave' in name else body }}")
    repair: Operation = ("replace", "/observation", whole)
    return "harness", "/observation", "shown_answers", broken, repair, ("replace", *_of(lie))


def _of(template: str) -> tuple[str, str]:
    return "/observation", template


def instruction() -> tuple[str, str, str, Operation, Operation, Operation]:
    text = clean().tasks[task_id()].instruction
    broken, repair = ("replace", "/instruction", text[::-1]), ("replace", "/instruction", text)
    more = ("replace", "/instruction", f"{text} Then cancel everything.")
    return f"task/{task_id()}", "/instruction", "spans", broken, repair, more


def letters_off() -> tuple[str, str, str, Operation, Operation, Operation]:
    artifact, place, _check, _broken, repair, _rider = instruction()
    number = next(word for word in str(repair[2]).split() if any(map(str.isdigit, word)))
    broken = ("replace", "/instruction", str(repair[2]).replace(number, "9" * len(number)))
    start = clean().tasks[task_id()].demands["d02"].start
    return artifact, place, "spans", broken, repair, ("replace", "/demands/d02/start", start + 2)


def schema() -> tuple[str, str, str, Operation, Operation, Operation]:
    artifact, place, _check, broken, repair, _rider = instruction()
    rider: Operation = ("replace", "/answer_schema/required", [])
    return artifact, place, "answer_fields", broken, repair, rider


@pytest.mark.parametrize(
    "make",
    [
        reaction, half_of_a_reaction, other_tool, seed_row, weight, lower_limit, one_tool_lies,
        instruction, letters_off, schema,
    ],
)  # fmt: skip
def test_a_repair_is_kept_alone_and_refused_with_a_rider(
    make: Callable[[], tuple[str, str, str, Operation, Operation, Operation]],
) -> None:
    artifact, place, check, broken, repair, rider = make()

    alone = decided(artifact, place, broken, repair)
    ridden = decided(artifact, place, broken, repair, rider)

    assert alone.accepted, alone.reason
    assert not ridden.accepted
    assert not ridden.checks[check].holds, ridden.reason
    assert ridden.checks[check].detail


def test_faults_have_places_where_only_some_services_are_there() -> None:
    system = bare_system()
    environment = system.environment
    few = {
        name: FrozenDict({key: getattr(environment, name)[key] for key in ("directory", "mail")})
        for name in ("blueprints", "seeds")
    }
    small = system.model_copy(update={"environment": environment.model_copy(update=few)})

    found = {
        kind.key: list(islice(kind.places(Clean(system=small)), 3))
        for kind in all_kinds()
        if kind.component.value == "environment"
    }

    assert sum(map(bool, found.values())) > 10


def test_a_task_alone_is_enough_to_hold_a_reaction_to_its_promise() -> None:
    """Its services are in no world of the task: nothing that is played could tell."""
    system = only(clean(), task_id())
    world = set(system.tasks[task_id()].world.services)
    name = next(
        name
        for name, item in sorted(system.environment.reactions.items())
        if item.on.service not in world
    )
    patch = make_patch(system, "reactions", [("remove", f"/{name}", None)], "a try", "reactions#")

    record = decide(system, patch, [])

    assert record.checks["touched"].detail == f"reactions#/{name} is not as its reference says"
