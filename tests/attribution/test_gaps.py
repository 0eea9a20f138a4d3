"""Defects of kinds that the planted ones do not have, and references that are wrong."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from attribution.accept import Example, accepted_system, decide
from attribution.attribute import attribute_trajectory
from attribution.evidence import same_place
from attribution.modes import failure_modes
from attribution.patchers.propose import propose
from attribution.records import AcceptanceRecord, Attribution, Decision, EvidenceKind, Party
from attribution.review import review_task
from attribution.swap import make_patch
from components.records.blueprint import ToolBlueprint
from components.records.calls import CallRecord
from components.records.frozen import FrozenDict
from components.records.patch import Patch
from components.records.system import System
from components.records.task import FromObservation
from components.records.trajectory import Failure, StopReason
from components.records.world import WorldContract
from tests.attribution.composed import composed_system
from tests.attribution.playing import NO_SLIPS, Scored, attribute_all, only, play_all, with_defect

Operation = tuple[str, str, Any]


@cache
def clean() -> System:
    return composed_system(16, 100)


def mend(
    system: System, played: list[Scored], attributions: list[Attribution]
) -> tuple[System, list[tuple[Patch, AcceptanceRecord]]]:
    """Repair a system mode by mode, as a round does."""
    facts = [fact for item in attributions for fact in item.evidence]
    examples = {t.rollout_id: Example(trajectory=t, scored=s) for t, s in played}
    decided = []
    for mode in failure_modes(attributions, [scored for _, scored in played]):
        for patch in propose(system, mode, facts, 3):
            record = decide(system, patch, [examples[key] for key in mode.rollouts])
            decided.append((patch, record))
            if record.accepted:
                system = accepted_system(system, patch, record)
                break
    return system, decided


def certified_calls() -> Iterator[tuple[str, str, CallRecord]]:
    """Yield task, step and call of every certified run."""
    for name, certificate in sorted(clean().reference.certificates.items()):
        for step, call in sorted(certificate.gold_run.items()):
            yield name, step, call


def tool_of(call: CallRecord) -> ToolBlueprint:
    return clean().environment.blueprints[call.service].tools[call.tool]


def tools_broken() -> dict[str, tuple[CallRecord, str, Operation]]:
    """Name -> a certified call, the part of its tool that is at fault, what is done to it."""
    calls = [call for _, _, call in certified_calls()]
    made = next(c for c in calls if any(e.action == "create" for e in tool_of(c).effects.values()))
    name = next(k for k, e in sorted(tool_of(made).effects.items()) if e.action == "create")
    twin = tool_of(made).effects[name].model_dump(mode="json")
    wrote = next(call for call in calls if tool_of(call).effects)
    blueprint = clean().environment.blueprints[wrote.service]
    used = {item.table for item in tool_of(wrote).lookups.values()}
    other = min(set(blueprint.entities) - used - {e.table for e in tool_of(wrote).effects.values()})
    searched = next(call for call in calls if tool_of(call).query is not None)
    read, field = next(
        (clean().reference.certificates[task.task_id].gold_run[source.step], source.path[-1])
        for task in clean().tasks.values()
        for step in task.gold.values()
        for source in step.arguments.values()
        if isinstance(source, FromObservation) and source.path[-1] not in ("id", "address")
        if (query := tool_of(_call(task.task_id, source.step)).query) is not None
        if query.fields is not None and source.path[-1] in query.fields
    )
    query = tool_of(read).query
    assert query is not None
    fields = [column for column in query.fields or () if column != field]
    return {
        "a row is made twice": (made, "/effects", ("add", "/effects/second", twin)),
        "a row that nothing writes of is asked for": (
            wrote,
            "/lookups",
            ("add", "/lookups/other", {"table": other, "equals": "nobody"}),
        ),
        "a search shows no row": (searched, "", ("replace", "/query/limit", 0)),
        "a search leaves a column out": (read, "", ("replace", "/query/fields", fields)),
    }


def _call(task_id: str, step: str) -> CallRecord:
    return clean().reference.certificates[task_id].gold_run[step]


@pytest.mark.parametrize("name", sorted(tools_broken()))
def test_a_broken_tool_is_blamed_and_mended(name: str) -> None:
    call, part, (op, at, value) = tools_broken()[name]
    artifact, pointer = f"blueprint/{call.service}", f"/tools/{call.tool}{part}"
    users = [key for key, _, other in certified_calls() if other.tool == call.tool]
    small = only(clean(), *list(dict.fromkeys(users))[:2])
    system = with_defect(small, artifact, (op, f"/tools/{call.tool}{at}", value))
    played = play_all(system, 1, NO_SLIPS)
    lost = [index for index, (_, scored) in enumerate(played) if not scored.passed]

    attributions = attribute_all(system, played)
    mended, decided = mend(system, played, attributions)

    assert lost
    for index in lost:
        verdict = attributions[index].verdict
        assert verdict.decision is Decision.BLAMED, verdict.would_decide
        assert same_place(verdict.blamed[0].place, f"{artifact}#{pointer}")
    assert any(record.accepted for _, record in decided), [r.reason for _, r in decided]
    assert not any(
        "quarantined" in step.path for p, r in decided if r.accepted for step in p.operations
    )
    assert all(scored.passed for _, scored in play_all(mended, 1, NO_SLIPS))


def task_defect(name: str, *operations: Operation) -> tuple[System, list[Scored]]:
    system = with_defect(only(clean(), name), f"task/{name}", *operations)
    return system, play_all(system, 1, NO_SLIPS)


def test_two_arguments_that_changed_places_are_mended_together() -> None:
    name, step, (one, other) = next(
        (name, step, keys)
        for name, step, call in certified_calls()
        if (keys := tuple(sorted(call.arguments)[:2])) and len(keys) == 2
        if all(isinstance(call.arguments[key], str) for key in keys)
        if set(clean().tasks[name].gold[step].arguments) >= {f"/{key}" for key in keys}
        if tool_of(call).effects
    )
    arguments = clean().tasks[name].gold[step].arguments
    sources = {key: arguments[f"/{key}"].model_dump(mode="json") for key in (one, other)}
    at = f"/gold/{step}/arguments/~1"
    system, played = task_defect(
        name,
        ("replace", f"{at}{one}", sources[other]),
        ("replace", f"{at}{other}", sources[one]),
    )

    mended, decided = mend(system, played, attribute_all(system, played))

    assert any(record.accepted for _, record in decided), [r.reason for _, r in decided]
    assert not mended.retired
    assert all(scored.passed for _, scored in play_all(mended, 1, NO_SLIPS))


def is_timed(call: CallRecord) -> bool:
    """Whether a call is held against the clock and writes no time of it."""
    has_now = "$now" in str(tool_of(call).effects)
    return "$now" in str(tool_of(call).checks) and not has_now and bool(call.changes)


def test_a_clock_that_gold_wrote_nowhere_is_the_tasks() -> None:
    name = next(name for name, _, call in certified_calls() if is_timed(call))
    other = next(key for key in sorted(clean().tasks) if key != name)
    system = with_defect(
        only(clean(), name, other),
        f"task/{name}",
        ("replace", "/world/now", "2027-01-01T00:00:00Z"),
    )
    played = [item for item in play_all(system, 1, NO_SLIPS) if item[0].task_id == name]

    attributions = attribute_all(system, played)

    blamed = attributions[0].verdict.blamed[0]
    assert (blamed.party, blamed.place) == (Party.TASK, f"task/{name}#/world/now")
    mended, _ = mend(system, played, attributions)
    assert mended.tasks[name].world.now == clean().tasks[name].world.now


def test_a_service_that_is_missing_is_one_defect_of_the_task() -> None:
    name = min(clean().tasks)
    kept, gone = clean().tasks[name].world.services[:2]
    del gone
    system, played = task_defect(name, ("replace", "/world/services", [kept]))

    attributions = attribute_all(system, played)

    assert {fact.party for fact in attributions[0].evidence if fact.against} == {Party.TASK}
    assert attributions[0].verdict.blamed[0].place == f"task/{name}#/world/services"


def test_an_instruction_that_breaks_off_is_the_place_of_the_defect() -> None:
    name = min(clean().tasks)
    text = clean().tasks[name].instruction
    system, played = task_defect(name, ("replace", "/instruction", text[:40]))

    attributions = attribute_all(system, played)

    assert attributions[0].verdict.blamed[0].place == f"task/{name}#/instruction"


def test_a_schema_that_is_none_is_the_tasks_and_breaks_no_judgement() -> None:
    name = min(clean().tasks)
    schema = {"type": "object", "properties": {"name": {"type": "strnig"}}}
    system, played = task_defect(name, ("replace", "/answer_schema", schema))

    attributions = attribute_all(system, played)

    assert played[0][0].stop_reason is StopReason.FAILURE
    assert attributions[0].verdict.blamed[0].place == f"task/{name}#/answer_schema"
    mended, _ = mend(system, played, attributions)
    assert all(scored.passed for _, scored in play_all(mended, 1, NO_SLIPS))


def test_what_breaks_the_judgement_itself_is_undecided() -> None:
    trajectory, scored = play_all(only(clean(), min(clean().tasks)), 1, NO_SLIPS)[0]
    name = trajectory.task_id
    certificate = clean().reference.certificates[name]
    run = FrozenDict(
        {
            key: call.model_copy(update={"service": "nowhere"})
            for key, call in certificate.gold_run.items()
        }
    )
    damaged = certificate.model_copy(update={"gold_run": run})
    reference = clean().reference.model_copy(update={"certificates": FrozenDict({name: damaged})})
    system = clean().model_copy(update={"reference": reference})
    lost = scored.model_copy(update={"passed": False})
    broken = trajectory.model_copy(
        update={
            "stop_reason": StopReason.FAILURE,
            "failure": Failure(boundary="harness", message="broke"),
        }
    )

    for one in (trajectory, broken):
        assert attribute_trajectory(system, one, lost).verdict.rollout_id == trajectory.rollout_id


def test_a_false_sentence_in_a_spec_blames_nobody_and_is_named() -> None:
    name = next(name for name, _, call in certified_calls() if call.tool == "set_leave")
    spec = clean().reference.specs["directory"]
    tool = spec.tools["set_leave"]
    false = tool.rules["future"].model_copy(update={"requires": {"@eq": ["$args.until", "$now"]}})
    tool = tool.model_copy(update={"rules": FrozenDict({**tool.rules, "future": false})})
    spec = spec.model_copy(update={"tools": FrozenDict({**spec.tools, "set_leave": tool})})
    small = only(clean(), name)
    specs = FrozenDict({**small.reference.specs, "directory": spec})
    system = small.model_copy(
        update={"reference": small.reference.model_copy(update={"specs": specs})}
    )
    played = play_all(system, 4)

    attributions = attribute_all(system, played)

    for item, (_, scored) in zip(attributions, played, strict=True):
        assert not any(blame.party is not Party.POLICY for blame in item.verdict.blamed)
        assert (item.verdict.decision is Decision.CLEARED) is bool(scored.passed)
        named = [fact.place for fact in item.evidence if fact.kind is EvidenceKind.REFERENCE]
        assert named == ["spec/directory#/tools/set_leave/rules/future"]
    mended, decided = mend(system, played, attributions)
    assert not decided
    assert mended is system


def test_a_reaction_that_the_contract_does_not_promise_is_not_taken_out() -> None:
    contract = clean().reference.contract
    used = next(
        change.cause.partition(":")[2]
        for _, certificate in sorted(clean().reference.certificates.items())
        for call in certificate.gold_run.values()
        for change in call.changes
        if change.cause.startswith("reaction:")
    )
    kept = {name: item for name, item in contract.reactions.items() if name != used}
    promised = contract.model_copy(update={"reactions": FrozenDict(kept)})
    reference = clean().reference.model_copy(update={"contract": promised})
    system = clean().model_copy(update={"reference": reference})

    made = make_patch(system, "reactions", [("remove", f"/{used}", None)], "a try", "reactions#")
    record = decide(system, made, [])

    assert not record.accepted


def test_a_stale_certificate_does_not_cost_its_task() -> None:
    name = min(clean().tasks)
    certificate = clean().reference.certificates[name]
    row = min(key for key in certificate.seed_rows if key.startswith("directory/"))
    stale = certificate.model_copy(
        update={"seed_rows": FrozenDict({**certificate.seed_rows, row: "0" * 64})}
    )
    certificates = FrozenDict({**clean().reference.certificates, name: stale})
    reference = clean().reference.model_copy(update={"certificates": certificates})
    system = clean().model_copy(update={"reference": reference})

    made = make_patch(system, "retired", [("add", f"/{name}", "stale")], "a try", "retired#")

    assert not decide(system, made, []).accepted


def test_where_no_reaction_is_promised_at_all_none_is_held_against_anybody() -> None:
    system = composed_system(6)
    reference = system.reference.model_copy(update={"contract": WorldContract()})
    silent = system.model_copy(update={"reference": reference})

    reacting = 0
    for name in sorted(silent.tasks):
        run = silent.reference.certificates[name].gold_run.values()
        reacting += any(
            change.cause.startswith("reaction:") for call in run for change in call.changes
        )
        assert not [item for item in review_task(silent, name) if item.against]

    assert reacting


def test_an_answer_that_was_not_shown_as_it_was_given_is_the_harness() -> None:
    """Whatever certified runs show: refusals are in none of them."""
    system = composed_system(6)
    lying = '{{ \'{"ok":true,"data":{}}\' if \'"ok":false\' in body else body }}'
    broken = with_defect(system, "harness", ("replace", "/observation", lying))

    found = review_task(broken, min(broken.tasks))

    assert [item.place for item in found if item.against] == ["harness#/observation"]
    assert not [item for item in review_task(system, min(system.tasks)) if item.against]


def test_what_is_listed_of_a_tool_is_looked_for_where_the_tool_is_named() -> None:
    """A word in the line of another tool is no line of this one."""
    system = composed_system(6)
    line = "{{ tool.text }}"
    prompt = system.harness.system_prompt
    assert line in prompt
    cut = with_defect(
        system,
        "harness",
        ("replace", "/system_prompt", prompt.replace(line, "{{ tool.text.split('(')[0] }}")),
    )

    for name in sorted(cut.tasks):
        found = [item.place for item in review_task(cut, name) if item.against]
        assert found == ["harness#/system_prompt"], name
