"""Taking a patch back: the artifact is as it was, and what came later stays or is not touched."""

from __future__ import annotations

from typing import Any

import pytest

from attribution.swap import body_of, make_patch, swap
from attribution.undo import undoing, undone
from components.errors import SynthesisError
from components.records.patch import Patch
from components.records.system import System
from tests.attribution.composed import composed_system


def patch(system: System, *operations: tuple[str, str, Any], artifact: str = "harness") -> Patch:
    return make_patch(system, artifact, operations, "a try", f"{artifact}#")


def test_every_operation_is_undone_in_reverse() -> None:
    system = composed_system(3)
    task_id = sorted(system.tasks)[0]
    artifact = f"task/{task_id}"
    rules = body_of(system, artifact)["gold"]
    first, last = sorted(rules)[0], sorted(rules)[-1]
    made = patch(
        system,
        ("replace", "/instruction", "Do it."),
        ("remove", f"/gold/{last}", None),
        ("add", f"/gold/{first}x", rules[first]),
        ("add", f"/gold/{first}", rules[last]),
        artifact=artifact,
    )
    after = swap(system, made)

    back = undone(after, undoing(after, made, body_of(system, artifact), "harm"))

    assert body_of(after, artifact) != body_of(system, artifact)
    assert body_of(back, artifact) == body_of(system, artifact)
    assert back.reference.certificates == system.reference.certificates


def test_rows_of_a_list_that_were_added_and_removed_are_back_in_their_order() -> None:
    system = composed_system(3)
    artifact = next(
        f"task/{key}" for key, task in system.tasks.items() if len(task.world.services) > 1
    )
    services = body_of(system, artifact)["world"]["services"]
    made = patch(
        system,
        ("remove", "/world/services/0", None),
        ("add", "/world/services/1", "extra"),
        artifact=artifact,
    )
    after = swap(system, made)

    undo = undoing(after, made, body_of(system, artifact), "harm")

    assert body_of(after, artifact)["world"]["services"][:2] == [services[1], "extra"]
    assert body_of(swap(after, undo), artifact)["world"]["services"] == services


def test_a_later_change_stays_unless_it_is_of_the_same_place() -> None:
    system = composed_system(3)
    old = body_of(system, "harness")
    made = patch(system, ("replace", "/limits/max_turns", old["limits"]["max_turns"] + 3))
    after = swap(system, made)
    elsewhere = swap(after, patch(after, ("replace", "/tool_style", "signature")))
    same = swap(after, patch(after, ("replace", "/limits/max_turns", 99)))

    back = body_of(swap(elsewhere, undoing(elsewhere, made, old, "harm")), "harness")

    assert back == {**old, "tool_style": "signature"}
    with pytest.raises(SynthesisError, match="a later patch changed harness#/limits/max_turns"):
        undoing(same, made, old, "harm")
