"""A compiled service has rules of its own, made from its entities, and pairs turn on them."""

from __future__ import annotations

from functools import cache
from typing import Any

from components.environment.synthesis import MadeService, make_service
from components.records.blueprint import SeedData
from components.records.frozen import FrozenDict
from components.records.policy import PolicyRule, Relation, RuleFamily
from components.records.spec import ServiceSpec
from components.records.system import System
from components.task.compose import WORLD_NOW, ComposedPair, compose_task
from components.task.generated_rules import generated_rules
from components.task.relations import keeps, limit_of
from tests.task.builders import Settings, builtin_system
from tests.task.pairs import clause_of

TEXT = {"type": "string"}


def schema(*required: str, **more: Any) -> dict[str, Any]:
    properties = {**dict.fromkeys(required, TEXT), **more}
    return {"type": "object", "properties": properties, "required": list(required)}


SPEC = ServiceSpec.model_validate(
    {
        "service": "tracker",
        "title": "Tracker",
        "tools": {
            name: {"name": name, "description": text, "input_schema": body}
            for name, text, body in (
                (
                    "create_task",
                    "Create a task in a project.",
                    schema(
                        "title",
                        "project",
                        priority={"type": "string", "enum": ["low", "medium", "high"]},
                        estimate_hours={"type": "integer", "minimum": 1},
                    ),
                ),
                ("get_task", "Get a task by its ID.", schema("task_id")),
                ("list_tasks", "List tasks, optionally of a project.", schema(project=TEXT)),
                ("complete_task", "Mark a task as completed.", schema("task_id")),
                ("delete_task", "Delete a task.", schema("task_id")),
            )
        },
    }
)


@cache
def tracker() -> MadeService:
    return make_service(SPEC)


@cache
def rules() -> dict[str, PolicyRule]:
    made = tracker()
    return generated_rules(made.admission.blueprint, made.seed, SPEC.title, WORLD_NOW)


def system() -> System:
    """Three built-in services that react to each other, and this one."""
    base, made = builtin_system(), tracker()
    environment = base.environment.model_copy(
        update={
            "blueprints": FrozenDict(
                {**base.environment.blueprints, "tracker": made.admission.blueprint}
            ),
            "seeds": FrozenDict({**base.environment.seeds, "tracker": made.seed}),
        }
    )
    contract = base.reference.contract
    contract = contract.model_copy(update={"rules": FrozenDict({**contract.rules, **rules()})})
    reference = base.reference.model_copy(
        update={
            "specs": FrozenDict({**base.reference.specs, "tracker": made.spec}),
            "contract": contract,
        }
    )
    return base.model_copy(update={"environment": environment, "reference": reference})


def test_a_rule_looks_at_what_its_tool_leaves_alone_and_divides_the_rows() -> None:
    rows = tracker().seed.tables["task"].values()

    assert {rule.tool for rule in rules().values()} == {"complete_task", "delete_task"}
    for rule in rules().values():
        limit = limit_of(rule, WORLD_NOW, ())
        kept = {keeps(rule.relation, row[rule.field], limit) for row in rows if row[rule.field]}
        assert kept == {True, False}
        assert rule.tool in rule.text
        assert rule.field in rule.text
        assert str(rule.value).removeprefix("-") in rule.text
        assert rule.field != "status"


def test_a_number_is_held_to_the_middle_and_nothing_is_said_where_all_rows_are_alike() -> None:
    made = tracker()
    table = {
        f"task_{number}": {**row, "estimate_hours": hours, "priority": "low"}
        for number, (row, hours) in enumerate(
            zip(made.seed.tables["task"].values(), (1, 2, 3, 50, 60), strict=False)
        )
    }
    alike = {key: {**row, "estimate_hours": 7} for key, row in table.items()}

    def tests(rows: dict[str, Any]) -> set[tuple[str, Relation, Any]]:
        plain = {
            key: {"id": key, "estimate_hours": row["estimate_hours"]} for key, row in rows.items()
        }
        seed = SeedData.model_validate({"service": "tracker", "tables": {"task": plain}})
        found = generated_rules(made.admission.blueprint, seed, "Tracker", WORLD_NOW)
        return {(rule.field, rule.relation, rule.value) for rule in found.values()}

    assert tests(table) == {("estimate_hours", Relation.AT_MOST, 3)}
    assert tests(alike) == set()


def test_a_pair_turns_on_a_rule_of_a_compiled_service() -> None:
    settings = Settings(k=3, walk_length=6, policies=1.0)
    made = (compose_task(system(), settings, seed) for seed in range(30))
    found = next(
        pair
        for pair in made
        if isinstance(pair, ComposedPair)
        and clause_of(pair.adversarial.task).rule.startswith("tracker.")
    )

    clause = clause_of(found.adversarial.task)
    rule = rules()[clause.rule]
    assert rule.family in set(RuleFamily)
    assert rule.text in found.adversarial.task.policy_rules
    assert clause.place in found.compliant.task.gold
    assert clause.place not in found.adversarial.task.gold
