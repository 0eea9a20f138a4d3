"""The certified run of gold in the environment as it is, and the state that it was certified to
end in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from attribution.evidence import evidence, place_of
from attribution.interventions.steps import Step, run_steps
from attribution.kept import kept
from attribution.meter import Intervention, metered
from attribution.records import Evidence, EvidenceKind, Party
from components.environment.reactions import event_of
from components.environment.state import WorldState, net_changes
from components.environment.world import World, make_row
from components.records.calls import CallRecord, RowChange
from components.records.frozen import FrozenDict, content_hash, thaw
from components.records.system import System
from components.records.task import Certificate, Task


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldReplay:
    """Gold's certified calls, executed again."""

    steps: tuple[Step, ...]
    names: tuple[str, ...]
    """Gold step of each call."""
    differs_at: int | None
    """First call that answers or changes otherwise than recorded; None when none does."""


def replay_gold(world: World, certificate: Certificate) -> GoldReplay:
    """Execute the certified calls from the world's start."""
    return kept("gold", (world, certificate), lambda: _replayed(world, certificate))


@metered(Intervention.GOLD_REPLAY)
def _replayed(world: World, certificate: Certificate) -> GoldReplay:
    names = tuple(sorted(certificate.gold_run))
    recorded = [certificate.gold_run[name] for name in names]
    _final, steps = run_steps(world, world.initial, recorded)
    differs = [
        index
        for index, (step, call) in enumerate(zip(steps, recorded, strict=True))
        if not same_outcome(step.call, call)
    ]
    return GoldReplay(steps=steps, names=names, differs_at=differs[0] if differs else None)


def same_outcome(left: CallRecord, right: CallRecord) -> bool:
    """Return whether two calls answered alike and changed the same rows; names of effects are no
    outcome.
    """
    if thaw(left.envelope) == thaw(right.envelope):
        return _moves(left) == _moves(right)
    # Words of an error message are no outcome either; its code is.
    left_error, right_error = left.envelope.get("error"), right.envelope.get("error")
    if isinstance(left_error, Mapping) and isinstance(right_error, Mapping):
        return bool(left_error.get("code") == right_error.get("code"))
    return False


def _moves(call: CallRecord) -> list[Any]:
    return [
        (change.service, change.table, change.row_id, thaw(change.before), thaw(change.after))
        for change in net_changes(call.changes)
    ]


def gold_evidence(system: System, task: Task, replay: GoldReplay) -> tuple[Evidence, ...]:
    """Return the first certified call that no longer answers as recorded, as evidence against its
    place.

    What differs says where: rows that a reaction wrote name the reaction, anything else the tool's
    part.
    """
    if replay.differs_at is None:
        return ()
    index = replay.differs_at
    step, call = replay.names[index], replay.steps[index].call
    recorded = system.reference.certificates[task.task_id].gold_run[step]
    place, keys = _differing_place(call, recorded)
    return (
        evidence(
            EvidenceKind.GOLD_REPLAY,
            Party.ENVIRONMENT,
            place,
            f"gold step {step}, {call.service}.{call.tool}, answers otherwise than certified",
            task_id=task.task_id,
            call_index=index,
            service=call.service,
            tool=call.tool,
            arguments=thaw(call.arguments),
            keys=keys,
            expected=thaw(recorded.envelope),
            found=thaw(call.envelope),
        ),
    )


def _differing_place(call: CallRecord, recorded: CallRecord) -> tuple[str, list[str]]:
    tool = ("tools", call.tool)
    blueprint = f"blueprint/{call.service}"
    if call.envelope.get("ok") != recorded.envelope.get("ok"):
        return place_of(blueprint, *tool), []
    mine, theirs = _causes(call), _causes(recorded)
    for cause in sorted(set(mine) | set(theirs)):
        if mine.get(cause) != theirs.get(cause):
            if cause.startswith("reaction:"):
                return place_of("reactions", cause.partition(":")[2]), []
            return place_of(blueprint, *tool, "effects"), []
    data, wanted = call.envelope.get("data"), recorded.envelope.get("data")
    keys = []
    if isinstance(data, Mapping) and isinstance(wanted, Mapping):
        keys = [
            key
            for key in sorted(set(data) | set(wanted))
            if thaw(data.get(key)) != thaw(wanted.get(key)) or (key in data) != (key in wanted)
        ]
    return place_of(blueprint, *tool), keys


def _causes(call: CallRecord) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for change in call.changes:
        found.setdefault(change.cause, []).append(
            (change.table, change.row_id, event_of(change), thaw(change.after))
        )
    return found


@metered(Intervention.ROWS)
def differing_rows(system: System, task: Task, world: World) -> tuple[Evidence, ...]:
    """Return the rows at the start of a task that are not the certified ones.

    A row that the task overrides is the task's. Otherwise the seed is asked: it is exonerated when
    another task's certificate, whose world does not override the row, confirms it, or when its
    artifact is byte for byte the certified one; then an override is missing from the task.
    """
    certificate = system.reference.certificates[task.task_id]
    rows = kept("certified rows", (certificate,), lambda: _by_table(certificate))
    certified = {service for service, _table in rows}
    differing = []
    for table_of in {*rows, *_tables(world.initial)}:
        then, now = rows.get(table_of, {}), _row_hashes(world.initial, *table_of)
        if then != now:
            differing += [
                ("/".join((*table_of, row_id)), then.get(row_id), row_id in now)
                for row_id in then.keys() | now.keys()
                if then.get(row_id) != now.get(row_id)
            ]
    found = []
    for key, wanted, row in sorted(differing, key=lambda item: item[0]):
        service, table, row_id = key.split("/", 2)
        if (certified and service not in certified) or service not in world.initial.services:
            continue  # a service too many or too few is one defect, not one a row
        is_task = key in task.world.overrides or _seed_is_confirmed(system, task, key)
        party = Party.TASK if is_task else Party.ENVIRONMENT
        place = (
            place_of(f"task/{task.task_id}", "world", "overrides", key)
            if is_task
            else place_of(f"seed/{service}", "tables", table, row_id)
        )
        verb = "is not there" if not row else "was not there" if wanted is None else "is another"
        found.append(
            evidence(
                EvidenceKind.SEED_ROW,
                party,
                place,
                f"the row {key} {verb} than when the task was certified"
                if verb == "is another"
                else f"the row {key} {verb}" + (" when the task was certified" if row else ""),
                task_id=task.task_id,
                row=key,
            )
        )
    return tuple(found)


def _by_table(certificate: Certificate) -> dict[tuple[str, str], dict[str, str]]:
    """Return the certified hash of each row at the start, by service and table."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    for key, digest in certificate.seed_rows.items():
        service, table, row_id = key.split("/", 2)
        found.setdefault((service, table), {})[row_id] = digest
    return found


def _tables(state: WorldState) -> Iterator[tuple[str, str]]:
    for service, tables in state.services.items():
        for table in tables:
            yield service, table


def _row_hashes(state: WorldState, service: str, name: str) -> dict[str, str]:
    """Return the hash of each row of a table, worked out once for all worlds that share it."""
    tables = state.services.get(service)
    table = None if tables is None else tables.get(name)
    if table is None:
        return {}

    def hashed() -> dict[str, str]:
        return {
            row_id: _row_hash(_Keyed(row.digest, row.values)) for row_id, row in table.rows.items()
        }

    return kept("row hashes", (table,), hashed)


class _Keyed:
    """A row's values beside its digest, which alone is compared: the values are hashed once for
    each content.
    """

    __slots__ = ("digest", "values")

    def __init__(self, digest: int, values: Any) -> None:
        self.digest, self.values = digest, values

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Keyed) and other.digest == self.digest

    def __hash__(self) -> int:
        return hash(self.digest)


@lru_cache(maxsize=65536)
def _row_hash(row: _Keyed) -> str:
    return content_hash(row.values)


def _seed_is_confirmed(system: System, task: Task, key: str) -> bool:
    service, table, row_id = key.split("/", 2)
    artifact = f"seed/{service}"
    certificate = system.reference.certificates[task.task_id]
    seed = system.environment.seeds[service]
    row = seed.tables.get(table, FrozenDict()).get(row_id)
    digest = None if row is None else content_hash(thaw(row))
    for name, other in sorted(system.reference.certificates.items()):
        rival = system.tasks.get(name)
        if name == task.task_id or rival is None or key in rival.world.overrides:
            continue
        if service in {*rival.world.services, *rival.world.distractors}:
            return other.seed_rows.get(key) == digest
    from_record = certificate.environment_hashes.get(artifact)
    return from_record is not None and from_record == content_hash(seed.model_dump(mode="json"))


def certified_final(world: World, certificate: Certificate) -> WorldState:
    """Return the state in which gold was certified to end, without executing anything."""
    state = world.initial
    for name in sorted(certificate.gold_run):
        state = with_changes(world, state, certificate.gold_run[name].changes)
    return state


def with_changes(world: World, state: WorldState, changes: tuple[RowChange, ...]) -> WorldState:
    """Return the state with recorded changes applied as they were recorded."""
    for change in changes:
        table = state.table(change.service, change.table)
        if change.after is not None:
            row = make_row(
                world.services[change.service], change.table, change.row_id, change.after
            )
            table = table.put(change.row_id, row)
        elif table.get(change.row_id) is not None:
            table = table.remove(change.row_id)
        state = state.with_table(change.service, change.table, table)
    return state
