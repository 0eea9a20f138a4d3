"""One measurement: servers listed, their specifications compiled, the same calls made on both
sides, and the verdicts.

Every sequence gets a fresh server in a fresh folder, and a fresh world. Calls may write wherever
the server can: only servers that can be thrown away belong here.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from components.environment.fidelity.comparison import compare
from components.environment.fidelity.document import Measurement, in_folder
from components.environment.fidelity.exchanges import comparable, exchanges_of, play_real
from components.environment.fidelity.recordings import (
    RecordedServer,
    read_recordings,
    recording_of,
    write_recordings,
)
from components.environment.fidelity.records import (
    Answer,
    Call,
    FidelityReport,
    ServiceFidelity,
)
from components.environment.fidelity.sequences import generated_sequences
from components.environment.sources.listed import ListedServer, RawListing, make_specs
from components.environment.sources.live import list_entries
from components.environment.sources.records import SourceKind
from components.environment.sources.server_list import ServerEntry
from components.environment.sources.servers import open_server
from components.environment.synthesis import MadeService, make_service
from components.environment.world import World, build_service_world
from components.errors import SpecError, SynthesisError, ToolError
from components.records.blueprint import FunctionalClass, SeedData
from components.records.frozen import FrozenDict, JsonObject
from components.records.spec import ServiceSpec

_NO_DATE = "1970-01-01"
"""Cards are only used for names."""
_NOW = "2026-03-02T09:00:00Z"

Start = Mapping[str, tuple[JsonObject, ...]]
Tell = Callable[[int, int], None]


@dataclass(slots=True, kw_only=True)
class _Played:
    """What was called of one server, and what it answered."""

    sequences: list[tuple[Sequence[Call], list[Answer | None]]] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


async def measure(asked: Measurement, seed: int, rounds: int, tell: Tell) -> FidelityReport:
    """Compare every server of a measurement with the service that is made of its specification.

    Args:
        seed, rounds: of generated sequences.
        tell: gets how many sequences of how many are done of the server at hand.

    Raises:
        SpecError: a file is wrong, or no server could be listed.
    """
    recorded = {} if asked.recordings is None else read_recordings(asked.recordings)
    raws = _saved(recorded) if recorded else await _list(asked.entries, asked.timeout_seconds)
    services: dict[str, ServiceFidelity] = {}
    failed: dict[str, str] = {}
    lines: dict[str, list[bytes]] = {}
    for raw, listed in zip(raws, make_specs(raws, _NO_DATE), strict=True):
        if listed.spec is None:
            failed[raw.name] = listed.error
            continue
        made = make_service(listed.spec)
        world = _world(listed.spec, made, asked.start.get(raw.name, {}), raw.name)
        if raw.name in recorded:
            found = recorded[raw.name].sequences
            played = _Played(sequences=[found[number] for number in sorted(found)])
        else:
            sequences = asked.sequences.get(raw.name) or generated_sequences(
                listed.spec, made.admission.blueprint, made.readings, seed, rounds
            )
            entry = next(item for item in asked.entries if item.name == raw.name)
            played = await _play(entry, listed, sequences, asked.timeout_seconds, tell)
            lines[raw.name] = recording_of(
                raw.name, raw.redactor.value(raw.tools), played.sequences
            )
        services[raw.name] = _judge(listed, made, world, played)
    if not services:
        raise SpecError(f"no server could be listed: {'; '.join(failed.values())}")
    if asked.record is not None:
        write_recordings(asked.record, lines)
    return FidelityReport(seed=seed, services=FrozenDict(services), failed=FrozenDict(failed))


async def _list(entries: Sequence[ServerEntry], timeout_seconds: float) -> list[RawListing]:
    with ExitStack() as stack:
        places = [in_folder(entry, stack.enter_context(_fresh_folder())) for entry in entries]
        return await list_entries(places, timeout_seconds)


@contextmanager
def _fresh_folder() -> Iterator[Path]:
    """A folder that is gone with all that a server wrote into it."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        yield Path(folder).resolve()


def _saved(recorded: Mapping[str, RecordedServer]) -> list[RawListing]:
    return [
        RawListing(
            name=name,
            kind=SourceKind.JSONL,
            origin="recordings",
            source=f"file:{name}",
            tools=server.tools,
            title=name,
        )
        for name, server in sorted(recorded.items())
    ]


async def _play(
    entry: ServerEntry,
    listed: ListedServer,
    sequences: Sequence[Sequence[Call]],
    timeout_seconds: float,
    tell: Tell,
) -> _Played:
    assert listed.card is not None
    played = _Played()
    for at, calls in enumerate(sequences):
        answers: list[Answer | None] = []
        with _fresh_folder() as folder:
            try:
                async with open_server(in_folder(entry, folder), timeout_seconds) as ask:
                    answers, died = await play_real(ask, listed.card, calls, str(folder))
            except ToolError as error:
                died = str(error)
        if died:
            played.remarks.append(f"sequence {at + 1}, {died}")
        played.sequences.append((calls, answers))
        tell(at + 1, len(sequences))
    return played


def _world(spec: ServiceSpec, made: MadeService, start: Start, server: str) -> World:
    """The compiled service, empty but for what the server has at its start."""
    blueprint = made.admission.blueprint
    tables: dict[str, FrozenDict[str, JsonObject]] = {}
    for table, rows in start.items():
        if table not in blueprint.entities:
            raise SpecError(
                f"start.{server}.{table}: the compiled service has no such table; it has "
                f"{', '.join(sorted(blueprint.entities))}"
            )
        like = next(iter(made.seed.tables.get(table, FrozenDict()).values()), FrozenDict())
        key = blueprint.entities[table].key
        whole = [FrozenDict({**like, **row}) for row in rows]
        tables[table] = FrozenDict({str(row.get(key)): row for row in whole})
    seed = SeedData(service=spec.service, tables=FrozenDict(tables))
    try:
        return build_service_world(spec, blueprint, seed, _NOW)
    except SynthesisError as error:
        raise SpecError(f"start.{server}: {error}") from None


def _judge(
    listed: ListedServer, made: MadeService, world: World, played: _Played
) -> ServiceFidelity:
    assert listed.spec is not None
    assert listed.card is not None
    blueprint = made.admission.blueprint
    offered = frozenset(name for name, tool in blueprint.tools.items() if not tool.simulated)
    unoffered = {
        name: f"quarantined: {item.detail}" for name, item in blueprint.quarantined.items()
    }
    unoffered |= {
        name: "simulated: it claims nothing" for name in blueprint.tools if name not in offered
    }
    writers = frozenset(
        name
        for name in listed.spec.tools
        if (blueprint.tools[name].functional if name in offered else made.readings[name].functional)
        is FunctionalClass.WRITE
    )
    kept, remarks = [], list(played.remarks)
    for at, (calls, answers) in enumerate(played.sequences):
        exchanges = exchanges_of(world, listed.card, offered, at + 1, calls, answers)
        part, why = comparable(exchanges, writers, offered)
        kept.append(part)
        if why:
            remarks.append(why)
    return ServiceFidelity(
        service=listed.spec.service,
        tools=compare(offered, unoffered, writers, kept),
        num_sequences=len(kept),
        num_calls=sum(map(len, kept)),
        remarks=tuple(remarks),
    )
