"""Patches that do harm, alone or beside a repair that is needed: each is refused, and says why."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from attribution.accept import Example, decide
from attribution.records import AcceptanceRecord
from attribution.swap import body_of, make_patch
from components.evaluator.rubric import score_group
from components.harness.tools import FINISH
from components.records.frozen import thaw
from components.records.system import System
from components.records.trajectory import StopReason
from tests.attribution.composed import composed_system
from tests.attribution.playing import NO_SLIPS, only, play_all, with_defect

Operation = tuple[str, str, Any]


@cache
def clean() -> System:
    return composed_system(3)


def first_task() -> str:
    return min(clean().tasks)


def tried(
    system: System, artifact: str, *operations: Operation, examples: tuple[Example, ...] = ()
) -> AcceptanceRecord:
    made = make_patch(system, artifact, operations, "a try", f"{artifact}#")
    return decide(system, made, examples)


def failures(system: System) -> tuple[Example, ...]:
    """Return rollouts that slips lose: examples that any patch may claim for itself."""
    return tuple(
        Example(trajectory=trajectory, scored=scored)
        for trajectory, scored in play_all(system, 4)
        if not scored.passed
    )


def needed_rule() -> tuple[str, str, str]:
    """Return service, tool and name of a check that every certified call keeps."""
    blueprints = clean().environment.blueprints
    for certificate in clean().reference.certificates.values():
        for call in certificate.gold_run.values():
            checks = blueprints[call.service].tools[call.tool].checks
            rules = clean().reference.specs[call.service].tools[call.tool].rules
            for name in sorted(set(checks) & set(rules)):
                return call.service, call.tool, name
    raise AssertionError("some certified tool has a rule")


@pytest.mark.parametrize(
    ("artifact", "operation"),
    [
        ("settings", ("replace", "/completion_lambda", 5.0)),
        ("settings", ("add", "/equivalence/unordered_fields/0", "mail.thread.subject")),
        ("harness", ("replace", "/schema_version", 1)),
        ("blueprint/mail", ("replace", "/tools/send_message/difficulty", 1)),
        ("blueprint/mail", ("replace", "/tools/send_message/functional", "read")),
        ("blueprint/mail", ("replace", "/inferred", True)),
        ("blueprint/mail", ("remove", "/tools/reply", None)),
        ("seed/mail", ("replace", "/service", "mail")),
        ("task", ("add", "/pair", "p_1")),
        ("task", ("replace", "/split", "heldout")),
        ("task", ("replace", "/world", {})),
    ],
)
def test_a_patch_of_a_path_without_a_reference_is_refused(
    artifact: str, operation: Operation
) -> None:
    name = f"task/{first_task()}" if artifact == "task" else artifact

    record = tried(clean(), name, operation)

    assert not record.accepted
    assert "no reference covers" in record.reason or "does not apply" in record.reason


def test_rules_that_the_world_contract_does_not_know_are_no_repair() -> None:
    record = tried(clean(), f"task/{first_task()}", ("replace", "/policy_rules", ["Be kind."]))

    assert not record.accepted


def test_a_whole_artifact_at_once_is_no_repair() -> None:
    record = tried(clean(), "settings", ("replace", "", body_of(clean(), "settings")))

    assert "no reference covers" in record.reason


def test_a_patch_that_breaks_what_tries_it_is_refused_and_ends_nothing() -> None:
    name = first_task()
    for value in ({"type": "strnig"}, {"$ref": "#/nowhere"}, {"pattern": "("}):
        schema = {"type": "object", "properties": {"name": value}}
        record = tried(clean(), f"task/{name}", ("replace", "/answer_schema", schema))
        assert not record.accepted
    service = clean().tasks[name].world.services[0]
    gone = ("replace", "/world/services", [service])
    assert not tried(clean(), f"task/{name}", gone).accepted


def test_a_needed_tool_is_not_taken_out_even_where_it_is_broken() -> None:
    system = composed_system(16)
    blueprints = system.environment.blueprints
    name, call = next(
        (name, call)
        for name, certificate in system.reference.certificates.items()
        for call in certificate.gold_run.values()
        if blueprints[call.service].tools[call.tool].query is not None
    )
    query = f"/tools/{call.tool}/query"
    limit = ("replace", f"{query}/limit", 0)
    broken = with_defect(only(system, name), f"blueprint/{call.service}", limit)

    body = {"reason": "failed_state_law", "detail": "it shows nothing"}
    out = ("add", f"/quarantined/{call.tool}", body)
    record = tried(broken, f"blueprint/{call.service}", out)

    assert not record.accepted


def test_a_repair_that_drops_a_rule_beside_it_is_refused() -> None:
    service, tool, rule = needed_rule()
    effect = next(
        change.cause.partition(":")[2]
        for certificate in clean().reference.certificates.values()
        for call in certificate.gold_run.values()
        if (call.service, call.tool) == (service, tool)
        for change in call.changes
        if change.cause.startswith("effect:")
    )
    when = f"/tools/{tool}/effects/{effect}/when"
    broken = with_defect(clean(), f"blueprint/{service}", ("replace", when, False))
    repair = ("replace", when, True)
    drop = ("remove", f"/tools/{tool}/checks/{rule}", None)

    assert tried(broken, f"blueprint/{service}", repair).accepted
    record = tried(broken, f"blueprint/{service}", repair, drop)

    assert not record.accepted
    assert record.reason.startswith("gates")


def test_a_rule_is_not_dropped_for_rollouts_that_broke_it() -> None:
    service, tool, rule = needed_rule()
    drop = ("remove", f"/tools/{tool}/checks/{rule}", None)

    record = tried(clean(), f"blueprint/{service}", drop, examples=failures(clean()))

    assert not record.accepted


def test_a_criterion_is_not_dropped_beside_a_repair() -> None:
    name = first_task()
    criteria = body_of(clean(), f"rubric/{name}")["criteria"]
    answer = next(key for key in criteria if criteria[key]["kind"] == "answer_field")
    at = f"/criteria/{answer}/expected"
    broken = with_defect(clean(), f"rubric/{name}", ("replace", at, "something else"))
    repair = ("replace", at, criteria[answer]["expected"])

    assert tried(broken, f"rubric/{name}", repair).accepted
    for other in sorted(set(criteria) - {answer}):
        drop = ("remove", "/criteria/" + other.replace("~", "~0").replace("/", "~1"), None)
        assert not tried(broken, f"rubric/{name}", repair, drop).accepted, other
    lax = ("replace", "/criteria/untouched/max_new", {"mail/message": 9, "mail/thread": 9})
    assert not tried(broken, f"rubric/{name}", repair, lax).accepted


def test_a_task_does_not_give_its_answer_away() -> None:
    name = next(
        name
        for name, task in sorted(clean().tasks.items())
        if any(source.kind == "observation" for source in task.answer.values())
    )
    task, certificate = clean().tasks[name], clean().reference.certificates[name]
    answer = " ".join(str(value) for value in thaw(certificate.gold_answer).values())
    told = ("replace", "/instruction", f"{task.instruction} (It is {answer}.)")
    assert not tried(clean(), f"task/{name}", told, examples=failures(clean())).accepted

    field = min(task.answer)
    wrong = {"kind": "default", "value": "nothing"}
    broken = with_defect(clean(), f"task/{name}", ("replace", f"/answer/{field}", wrong))
    repair = ("replace", f"/answer/{field}", body_of(clean(), f"task/{name}")["answer"][field])
    properties = body_of(clean(), f"task/{name}")["answer_schema"]["properties"]
    only = {**properties[field], "enum": [thaw(certificate.gold_answer)[field]]}
    schema = ("replace", f"/answer_schema/properties/{field}", only)
    assert tried(broken, f"task/{name}", repair).accepted
    for gift in (told, schema):
        record = tried(broken, f"task/{name}", repair, gift)
        assert record.reason.startswith("hidden_values"), record.reason


def test_retiring_one_task_does_not_bring_another_back() -> None:
    name, other = sorted(clean().tasks)[:2]
    broken = with_defect(clean(), f"task/{name}", ("replace", "/instruction", "Do it."))
    broken = with_defect(broken, "retired", ("add", f"/{other}", "it was bad"))

    assert tried(broken, "retired", ("add", f"/{name}", "no")).accepted
    back = ("remove", f"/{other}", None)
    assert not tried(broken, "retired", ("add", f"/{name}", "no"), back).accepted
    assert not tried(broken, "retired", back).accepted


def test_a_harness_that_merely_hides_words_more_or_allows_more_is_refused() -> None:
    unneeded = sorted(
        f"{service}__{tool}"
        for service, blueprint in clean().environment.blueprints.items()
        for tool in blueprint.tools
        if not any(
            (call.service, call.tool) == (service, tool)
            for certificate in clean().reference.certificates.values()
            for call in certificate.gold_run.values()
        )
    )
    limits = clean().harness.limits
    harmful: list[Operation] = [
        ("replace", "/hidden_tools", unneeded),
        ("replace", "/tool_exposure", "needed"),
        ("replace", "/limits/max_turns", limits.max_turns * 2),
        ("replace", "/limits/max_invalid_turns", 50),
        ("replace", "/system_prompt", clean().harness.system_prompt + "\nGood luck!"),
        ("replace", "/parsers/hermes/enabled", False),
    ]
    examples = failures(clean())
    assert examples
    for operation in harmful:
        assert not tried(clean(), "harness", operation, examples=examples).accepted, operation

    cut = clean().harness.observation.replace("{{ body }}", "{{ body[:80] }}")
    broken = with_defect(clean(), "harness", ("replace", "/observation", cut))
    repair = ("replace", "/observation", clean().harness.observation)
    assert tried(broken, "harness", repair).accepted
    for operation in harmful[:4]:
        assert not tried(broken, "harness", repair, operation).accepted, operation


def test_turning_a_needed_parser_on_is_kept_for_the_messages_that_it_reads() -> None:
    off = ("replace", "/parsers/hermes/enabled", False)
    broken = with_defect(clean(), "harness", off)
    starved = []
    for trajectory, _scored in play_all(clean(), 1, NO_SLIPS):
        assert FINISH in trajectory.turns[-1].raw_text
        lost = trajectory.model_copy(
            update={"stop_reason": StopReason.INVALID_TURNS, "answer": None}
        )
        task = broken.tasks[trajectory.task_id]
        starved.append(Example(trajectory=lost, scored=score_group(broken, task, [lost])[0]))

    on = ("replace", "/parsers/hermes/enabled", True)
    record = tried(broken, "harness", on, examples=tuple(starved))

    assert record.accepted, record.reason
    assert record.checks["readings"].after > record.checks["readings"].before
