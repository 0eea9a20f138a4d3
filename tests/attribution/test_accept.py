"""Which patches are kept: checks that hold after it, and gains that are more than passes."""

from __future__ import annotations

from typing import Any

import jsonpatch
import pytest

from attribution.accept import Example, accepted_system, decide
from attribution.interventions.runs import arm_of, oracle_run
from attribution.patchers.propose import propose
from attribution.records import FailureMode, Party
from attribution.review import review_task
from attribution.swap import make_patch, swap
from components.artifacts import (
    artifacts_of,
    component_versions,
    reference_artifacts,
    system_from_artifacts,
)
from components.records.base import to_json
from components.records.frozen import thaw
from components.records.patch import Component, Patch
from components.records.system import System
from components.records.task import Certificate
from components.task.certify import recertify
from loop.bench_attribution.playing import score_alone
from tests.attribution.composed import composed_system
from tests.attribution.playing import NO_SLIPS, play_all, with_defect


def clean() -> System:
    return composed_system(3)


def task_with(tool: str) -> str:
    return next(
        name
        for name, certificate in sorted(clean().reference.certificates.items())
        if any(call.tool == tool for call in certificate.gold_run.values())
    )


def a_writing_tool() -> tuple[str, str, str]:
    """Return service, tool and effect of some certified write."""
    for certificate in clean().reference.certificates.values():
        for call in certificate.gold_run.values():
            for change in call.changes:
                if change.cause.startswith("effect:") and change.before is not None:
                    return call.service, call.tool, change.cause.partition(":")[2]
    raise AssertionError("every composed task writes")


def patch(system: System, artifact: str, *operations: tuple[str, str, Any]) -> Patch:
    return make_patch(system, artifact, operations, "a try", f"{artifact}#")


def rubric_of(task_id: str) -> dict[str, Any]:
    rubric = clean().evaluator.rubrics[task_id]
    body: dict[str, Any] = thaw(rubric.model_dump(mode="json")["criteria"])
    return body


def unmet(system: System, task_id: str) -> list[str]:
    """Return the criteria that a run without slips does not meet."""
    trajectory = oracle_run(arm_of(system, task_id)).trajectory
    scored = score_alone(system, trajectory)
    return [name for name, one in scored.criteria.items() if one.value != 1.0]


def read_again(system: System, one: Patch) -> System:
    """Return the system as it is read from its artifacts after one of them was patched."""
    artifacts = {kind: artifacts_of(system, kind) for kind in Component}
    body = artifacts[one.component][one.artifact]
    operations = [to_json(operation) for operation in one.operations]
    artifacts[one.component][one.artifact] = jsonpatch.apply_patch(body, operations)
    return system_from_artifacts(artifacts, reference_artifacts(system))


def test_a_repair_is_kept_and_certificates_are_renewed_apart_from_it() -> None:
    service, tool, effect = a_writing_tool()
    at = f"/tools/{tool}/effects/{effect}/when"
    broken = with_defect(clean(), f"blueprint/{service}", ("replace", at, False))
    played = play_all(broken, 1, NO_SLIPS)
    examples = [
        Example(trajectory=trajectory, scored=scored)
        for trajectory, scored in played
        if not scored.passed
    ]

    repair = patch(broken, f"blueprint/{service}", ("replace", at, True))
    record = decide(broken, repair, examples)

    assert record.accepted, record.reason
    assert record.checks["examples"].after == len(examples) > 0
    assert record.checks["gold_answers"].after == record.checks["gold_answers"].total
    assert record.versions_before == component_versions(broken)
    assert record.versions_after == component_versions(clean())
    after = accepted_system(broken, repair, record)
    for task_id in record.certificates:
        assert isinstance(recertify(after, task_id), Certificate)


def test_a_patch_that_changes_nothing_for_the_better_is_rolled_back() -> None:
    harmless = patch(clean(), "harness", ("replace", "/tool_style", "signature"))

    record = decide(clean(), harmless, [])

    assert not record.accepted
    assert record.reason == "nothing gets better"
    assert record.versions_after == record.versions_before
    assert accepted_system(clean(), harmless, record) is clean()


def test_a_patch_that_breaks_gold_is_rolled_back() -> None:
    service, tool, effect = a_writing_tool()
    at = f"/tools/{tool}/effects/{effect}/when"

    record = decide(clean(), patch(clean(), f"blueprint/{service}", ("replace", at, False)), [])

    assert not record.accepted
    assert record.reason.startswith("gold_answers")


def test_a_rubric_that_merely_lets_more_pass_is_refused() -> None:
    task_id = sorted(clean().tasks)[0]
    for name in rubric_of(task_id):
        at = "/criteria/" + name.replace("~", "~0").replace("/", "~1")
        record = decide(clean(), patch(clean(), f"rubric/{task_id}", ("remove", at, None)), [])
        assert not record.accepted, name


def test_a_rubric_is_mended_last_where_gold_passes_only_because_it_is_broken() -> None:
    dropped = '<tool_response>\n{{ body if call_id < "t03" else "" }}\n</tool_response>\n'
    whole = clean().harness.observation
    unread = with_defect(clean(), "harness", ("replace", "/observation", dropped))
    task_id, missed = next(
        (name, missed) for name in sorted(clean().tasks) if len(missed := unmet(unread, name)) == 1
    )
    at = f"/criteria/{missed[0].replace('~', '~0').replace('/', '~1')}/weight"
    broken = with_defect(unread, f"rubric/{task_id}", ("replace", at, 1e-13))
    assert unmet(broken, task_id) == missed
    assert oracle_run(arm_of(broken, task_id)).passed

    early = decide(broken, patch(broken, f"rubric/{task_id}", ("replace", at, 1.0)), [])
    assert not early.accepted
    assert early.reason.startswith("gold_plays"), early.reason

    harness = patch(broken, "harness", ("replace", "/observation", whole))
    shown = accepted_system(broken, harness, decide(broken, harness, []))
    late = decide(shown, patch(shown, f"rubric/{task_id}", ("replace", at, 1.0)), [])
    assert late.accepted, late.reason


def test_a_lower_threshold_is_refused() -> None:
    record = decide(clean(), patch(clean(), "settings", ("replace", "/pass_threshold", 0.5)), [])

    assert not record.accepted


def test_a_task_that_merely_gets_easier_is_refused() -> None:
    task_id = sorted(clean().tasks)[0]
    gold = clean().tasks[task_id].gold
    certified = clean().reference.certificates[task_id].gold_run
    step, pointer = next(
        (name, pointer)
        for name, step in sorted(gold.items())
        for pointer, source in step.arguments.items()
        if source.kind == "observation"
    )
    known = {"kind": "default", "value": thaw(certified[step].arguments[pointer[1:]])}
    at = f"/gold/{step}/arguments/~1{pointer[1:]}"
    easier = patch(clean(), f"task/{task_id}", ("replace", at, known))
    shorter = patch(clean(), f"task/{task_id}", ("remove", f"/gold/{max(gold)}", None))

    assert not decide(clean(), easier, []).accepted
    assert not decide(clean(), shorter, []).accepted


def test_a_sound_task_is_not_retired() -> None:
    task_id = sorted(clean().tasks)[0]

    record = decide(clean(), patch(clean(), "retired", ("add", f"/{task_id}", "no")), [])

    assert not record.accepted


def test_a_row_that_fits_no_table_is_found_and_taken_out() -> None:
    task_id = sorted(clean().tasks)[0]
    service = clean().tasks[task_id].world.services[0]
    table, rows = next(iter(sorted(clean().environment.seeds[service].tables.items())))
    key = f"{service}/{table}/{min(rows)}"
    at = "/world/overrides/" + key.replace("/", "~1")
    broken = with_defect(clean(), f"task/{task_id}", ("add", at, {"nonsense": 1}))

    facts = review_task(broken, task_id)
    assert [(fact.party.value, fact.place) for fact in facts] == [("task", f"task/{task_id}#{at}")]
    mode = FailureMode(
        mode_id="m",
        party=Party.TASK,
        place=facts[0].place,
        rollouts=(),
        lost_reward=0.0,
        example="",
        statement=facts[0].statement,
        evidence_ids=(facts[0].evidence_id,),
    )
    proposed = propose(broken, mode, facts, 3)

    record = decide(broken, proposed[0], [])

    assert record.accepted, record.reason
    assert record.versions_after == component_versions(clean())


def test_a_sound_tool_is_not_quarantined() -> None:
    service, tool, _effect = a_writing_tool()
    body = {"reason": "unclear", "detail": "no"}
    at = f"/quarantined/{tool}"

    record = decide(clean(), patch(clean(), f"blueprint/{service}", ("add", at, body)), [])

    assert not record.accepted


def test_a_patch_for_another_base_is_refused_and_says_so() -> None:
    made = patch(clean(), "harness", ("replace", "/limits/max_turns", 40))
    moved = with_defect(clean(), "harness", ("replace", "/limits/max_turns", 12))

    record = decide(moved, made, [])

    assert not record.accepted
    assert "does not apply" in record.reason


@pytest.mark.parametrize("value", ["$nothing.here", {"@unknown": 1}])
def test_a_patch_that_does_not_compile_is_refused(value: Any) -> None:
    service, tool, effect = a_writing_tool()
    at = f"/tools/{tool}/effects/{effect}/when"

    record = decide(clean(), patch(clean(), f"blueprint/{service}", ("replace", at, value)), [])

    assert not record.accepted
    assert "does not compile" in record.reason


def test_swapping_in_memory_is_applying_the_patch() -> None:
    service, tool, effect = a_writing_tool()
    at = f"/tools/{tool}/effects/{effect}/when"
    tries = [
        patch(clean(), f"blueprint/{service}", ("replace", at, False)),
        patch(
            clean(), "reactions", ("remove", f"/{sorted(clean().environment.reactions)[0]}", None)
        ),
        patch(clean(), "settings", ("replace", "/pass_threshold", 0.5)),
        patch(clean(), "retired", ("add", "/t_x", "why")),
        patch(clean(), f"task/{sorted(clean().tasks)[0]}", ("replace", "/instruction", "x")),
    ]

    for one in tries:
        assert component_versions(swap(clean(), one)) == component_versions(
            read_again(clean(), one)
        )
