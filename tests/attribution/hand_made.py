"""A small system with tasks written by hand on the built-in services, certified by playing them
once.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from components.environment.catalog_loader import (
    builtin_services,
    load_contract,
    load_reactions,
    load_service,
)
from components.environment.engine import call_recorded
from components.environment.state import rows_of, state_hash
from components.environment.world import World, build_world
from components.evaluator.compile import compile_rubric
from components.harness.defaults import default_harness
from components.records.base import hash_record
from components.records.frozen import FrozenDict, content_hash, freeze, thaw
from components.records.system import Environment, Evaluator, Reference, System
from components.records.task import (
    Certificate,
    Demand,
    FromInstruction,
    FromObservation,
    GoldStep,
    Task,
)
from components.records.world import WorldSpec
from components.task.provenance import derive_answer, derive_arguments

NOW = "2026-03-02T09:00:00Z"


@cache
def bare_system() -> System:
    """Return the built-in services with the seed harness and no task."""
    names = builtin_services()
    services = {name: load_service(name) for name in names}
    return System(
        environment=Environment(
            blueprints=FrozenDict({name: services[name].blueprint for name in names}),
            seeds=FrozenDict({name: services[name].seed for name in names}),
            reactions=load_reactions(),
        ),
        harness=default_harness(),
        reference=Reference(
            specs=FrozenDict({name: services[name].spec for name in names}),
            contract=load_contract(),
        ),
    )


@cache
def small_system(num_tasks: int = 3) -> System:
    """Return a system with hand-made tasks: assign a ticket to somebody, and say what they book
    time on.
    """
    system = bare_system()
    tasks, rubrics, certificates = {}, {}, {}
    for index, (number, email) in enumerate(_errands(system)[:num_tasks]):
        task = _task(f"t_{index}", number, email)
        world = build_world(system, task.world)
        certificate, rubric = _certify(world, task)
        tasks[task.task_id], rubrics[task.task_id] = task, rubric
        certificates[task.task_id] = certificate
    return system.model_copy(
        update={
            "tasks": FrozenDict(tasks),
            "evaluator": Evaluator(rubrics=FrozenDict(rubrics)),
            "reference": system.reference.model_copy(
                update={"certificates": FrozenDict(certificates)}
            ),
        }
    )


def _errands(system: System) -> list[tuple[str, str]]:
    """Pair unfinished tickets with available people who do not hold them."""
    helpdesk = system.environment.seeds["helpdesk"].tables
    people = [row for row in helpdesk["profile"].values() if row["availability"] == "available"]
    tickets = [
        row for row in helpdesk["ticket"].values() if row["status"] in ("open", "in_progress")
    ]
    pairs = []
    for index, ticket in enumerate(tickets):
        person = people[index % len(people)]
        if person["employee_id"] != ticket["assignee_id"]:
            pairs.append((ticket["number"], person["email"]))
    return pairs


def _task(task_id: str, number: str, email: str) -> Task:
    text = f"Assign the ticket {number} to {email}, then tell me the code they book time on."
    at, to = text.index(number), text.index(email)

    def seen(step: str, *path: Any) -> FromObservation:
        return FromObservation(step=step, path=path)

    gold = {
        "s01": GoldStep(
            service="helpdesk",
            tool="search_tickets",
            arguments=FrozenDict({"/number": FromInstruction(start=at, end=at + len(number))}),
        ),
        "s02": GoldStep(
            service="directory",
            tool="find_employees",
            arguments=FrozenDict({"/email": FromInstruction(start=to, end=to + len(email))}),
        ),
        "s03": GoldStep(
            service="helpdesk",
            tool="assign_ticket",
            arguments=FrozenDict(
                {
                    "/ticket_id": seen("s01", "tickets", 0, "id"),
                    "/assignee_id": seen("s02", "employees", 0, "id"),
                }
            ),
        ),
        "s04": GoldStep(
            service="directory",
            tool="get_employee",
            arguments=FrozenDict({"/employee_id": seen("s02", "employees", 0, "id")}),
        ),
    }
    return Task(
        task_id=task_id,
        seed=0,
        instruction=text,
        demands=FrozenDict(
            {
                "d1": Demand(start=0, end=to + len(email), step="s03"),
                "d2": Demand(start=text.index("tell"), end=len(text), step="answer"),
            }
        ),
        world=WorldSpec(services=("directory", "helpdesk"), distractors=("mail",), now=NOW),
        gold=FrozenDict(gold),
        answer=FrozenDict({"time_code": seen("s04", "employee", "time_code")}),
        answer_schema=freeze(
            {
                "type": "object",
                "properties": {"time_code": {"type": "string"}},
                "required": ["time_code"],
                "additionalProperties": False,
            }
        ),
    )


def _certify(world: World, task: Task) -> tuple[Certificate, Any]:
    state = world.initial
    observed: dict[str, Any] = {}
    run = {}
    for name, step in sorted(task.gold.items()):
        arguments = derive_arguments(step, task.instruction, observed)
        state, call = call_recorded(world, state, step.service, step.tool, arguments)
        assert call.envelope["ok"], (name, thaw(call.envelope))
        observed[name], run[name] = call.envelope["data"], call
    answer = derive_answer(task, observed)
    certificate = Certificate(
        task_id=task.task_id,
        task_hash=hash_record(task),
        environment_hashes=FrozenDict(),
        evaluator_hashes=FrozenDict(),
        gates_version=1,
        gold_run=FrozenDict(run),
        gold_answer=answer,
        seed_rows=FrozenDict(
            {
                f"{service}/{table}/{row_id}": content_hash(thaw(row))
                for service in world.initial.services
                for table in world.initial.services[service]
                for row_id, row in rows_of(world.initial, service, table).items()
            }
        ),
        initial_state=state_hash(world.initial),
        final_state=state_hash(state),
        probes=FrozenDict(),
    )
    return certificate, compile_rubric(task, [run[name] for name in sorted(run)], world, answer)
