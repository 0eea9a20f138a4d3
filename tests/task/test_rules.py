"""Policy rules: what they compare, and that those of the catalog fit its services."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest

from components.environment.catalog_loader import builtin_services, load_contract, load_service
from components.records.calls import CallRecord
from components.records.frozen import FrozenDict
from components.records.policy import PolicyRule, Relation, RuleFamily
from components.records.task import FromDefault, FromObservation, GoldStep, Ruled
from components.task.relations import is_clear, keeps, limit_of
from components.task.rules import forbidden_steps, was_made_first

RULES = load_contract().rules


@pytest.mark.parametrize(
    ("relation", "limit", "kept", "broken"),
    [
        (Relation.IS, "open", "open", "closed"),
        (Relation.IS_NOT, "urgent", "low", "urgent"),
        (Relation.ONE_OF, ("a", "b"), "b", "c"),
        (Relation.AT_MOST, 3000, 3000, 3001),
        (Relation.AT_LEAST, 6, 6, 5),
        (Relation.SINCE, "2026-03-05T09:00:00Z", "2026-03-05T09:00:00Z", "2026-03-05T08:59:00Z"),
        (Relation.UNTIL, "2026-03-05T09:00:00Z", "2026-03-05T09:00:00Z", "2026-03-05T09:01:00Z"),
    ],
)
def test_a_relation_holds_on_one_side_of_its_limit(
    relation: Relation, limit: object, kept: object, broken: object
) -> None:
    assert keeps(relation, kept, limit)
    assert not keeps(relation, broken, limit)
    assert not keeps(relation, None, limit)


def test_within_a_day_of_its_limit_a_time_is_not_clear() -> None:
    limit = "2026-03-23T09:00:00Z"

    assert not is_clear(Relation.UNTIL, "2026-03-23T16:00:00Z", limit)
    assert is_clear(Relation.UNTIL, "2026-03-24T09:00:00Z", limit)
    assert is_clear(Relation.AT_MOST, 3001, 3000)


def test_days_count_from_the_clock_and_who_asks_is_given() -> None:
    window = next(rule for rule in RULES.values() if rule.tool == "cancel_trip")
    own = next(rule for rule in RULES.values() if rule.tool == "publish_release")

    assert limit_of(window, "2026-03-02T09:00:00Z", ()) == "2026-03-06T09:00:00Z"
    assert limit_of(own, "2026-03-02T09:00:00Z", ("Ada", "emp_1")) == ("Ada", "emp_1")


def test_every_service_has_rules_and_every_family_is_there() -> None:
    per_service = Counter(rule.service for rule in RULES.values())

    assert set(per_service) == set(builtin_services())
    assert min(per_service.values()) >= 2
    assert {rule.family for rule in RULES.values()} == set(RuleFamily)


@pytest.mark.parametrize("name", sorted(RULES))
def test_a_rule_speaks_of_tools_arguments_and_fields_that_are_there(name: str) -> None:
    rule = RULES[name]
    spec = load_service(rule.service).spec
    properties = spec.tools[rule.tool].input_schema["properties"]

    assert {rule.names, *rule.only} <= set(properties)
    for key, values in rule.only.items():
        assert set(values) <= set(properties[key]["enum"])
    service, table = end_of(rule)
    assert rule.field in load_service(service).blueprint.entities[table].fields
    if rule.instead is not None:
        schema = spec.tools[rule.instead.tool].input_schema
        given = rule.instead.arguments
        assert set(schema["required"]) <= set(given) <= set(schema["properties"])
        assert all(item.of in properties for item in given.values() if item.of)
        constants = [item.value for item in given.values() if not item.of]
        assert all(str(value) in rule.text for value in constants)


def test_what_is_done_instead_keeps_what_the_rule_says_nothing_of() -> None:
    told = {"/trip_id": "trp_1", "/kind": "hotel", "/amount_eur": 50, "/time_code": "TC-1"}
    clause = asked("small_budgets_go_by_train", told)

    steps = forbidden_steps(RULES[clause.rule], clause)

    assert steps is not None
    given = {key: source.model_dump()["value"] for key, source in steps["s04"].arguments.items()}
    assert given == {**told, "/kind": "train"}


def test_a_call_of_another_tool_must_take_all_that_was_asked() -> None:
    told = {"/from_address": "a", "/to_address": "b", "/subject": "c", "/body": "d"}
    short = asked("absent_people_get_drafts", told)
    longer = asked("absent_people_get_drafts", {**told, "/ticket_id": "tkt_1"})

    steps = forbidden_steps(RULES[short.rule], short)

    assert steps is not None
    assert (steps["s04"].tool, set(steps["s04"].arguments)) == ("create_draft", set(told))
    assert forbidden_steps(RULES[longer.rule], longer) is None


def test_a_call_counts_as_made_first_with_the_same_values_alone() -> None:
    rule = RULES["major_incidents_are_contained"]

    def made(**arguments: str) -> CallRecord:
        return CallRecord.model_validate(
            {
                "service": "incidents",
                "tool": "record_action",
                "arguments": arguments,
                "envelope": {"ok": True, "data": {}},
                "changes": [],
                "state_before": "",
                "state_after": "",
            }
        )

    right = made(incident_id="inc_1", kind="containment")
    assert was_made_first(rule, {"incident_id": "inc_1"}, [right])
    assert not was_made_first(rule, {"incident_id": "inc_2"}, [right])
    other = made(incident_id="inc_1", kind="review")
    assert not was_made_first(rule, {"incident_id": "inc_1"}, [other])


def asked(name: str, arguments: Mapping[str, Any]) -> Ruled:
    """What is asked for under a rule of the catalog."""
    rule = RULES[name]
    sources = {key: FromDefault(value=value) for key, value in arguments.items()}
    step = GoldStep(service=rule.service, tool=rule.tool, arguments=FrozenDict(sources))
    return Ruled(
        start=0,
        end=1,
        rule=name,
        text=rule.text,
        place="s04",
        asked=step,
        source=FromObservation(step="s01", path=("row",)),
        allows=False,
    )


def end_of(rule: PolicyRule) -> tuple[str, str]:
    """Service and table of the row that a rule looks at."""
    service, table = rule.service, rule.table
    for field in rule.links:
        link = load_service(service).blueprint.entities[table].fields[field].link
        assert link is not None
        service, table = link.split(".")[:2]
    return service, table
