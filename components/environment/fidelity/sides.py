"""The compiled side of a comparison: one service for all sequences, or taught ones, each for some.

Owns who learns from what. A taught service is never compared in a sequence that it learned from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from components.environment.fidelity.comparison import compare
from components.environment.fidelity.exchanges import comparable, exchanges_of
from components.environment.fidelity.records import ServiceFidelity
from components.environment.recorded.files import RecordedServer
from components.environment.recorded.heard import Sequences
from components.environment.recorded.lessons import taught
from components.environment.recorded.records import Answer, Call
from components.environment.sources.listed import ListedServer, RawListing
from components.environment.synthesis import MadeService, make_service
from components.environment.world import World, build_service_world
from components.errors import SpecError, SynthesisError
from components.records.blueprint import FunctionalClass, SeedData
from components.records.frozen import FrozenDict, JsonObject
from components.records.spec import ServiceSpec

MOST_FOLDS = 10
"""Parts that sequences are divided into, each compared by a service that learned from the rest."""
_NOW = "2026-03-02T09:00:00Z"

Start = Mapping[str, tuple[JsonObject, ...]]


@dataclass(slots=True, kw_only=True)
class Played:
    """What was called of one server, and what it answered."""

    sequences: list[tuple[Sequence[Call], list[Answer | None]]] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """A compiled service and the sequences that it is compared in."""

    made: MadeService
    world: World
    places: frozenset[int] | None = None
    """Places of its sequences, from 0; None: all of them."""

    @classmethod
    def of(
        cls, made: MadeService, start: Start, server: str, places: frozenset[int] | None = None
    ) -> Side:
        """Return a service that begins empty but for what the server has at its start.

        Raises:
            SpecError: the start names no table of the service, or a row that does not fit it.
        """
        return cls(made=made, world=_world(made.spec, made, start, server), places=places)

    def plays(self, place: int) -> bool:
        """Return whether it is compared in the sequence at a place."""
        return self.places is None or place in self.places

    @property
    def offered(self) -> frozenset[str]:
        """Tools that are compared."""
        return self.made.deterministic

    @property
    def writers(self) -> frozenset[str]:
        """Tools that change state, those that are not offered included."""
        tools, readings = self.made.admission.blueprint.tools, self.made.readings
        return frozenset(
            name
            for name in self.made.spec.tools
            if (tools[name] if name in self.offered else readings[name]).functional
            is FunctionalClass.WRITE
        )


def taught_sides(
    listed: ListedServer,
    start: Start,
    raw: RawListing,
    played: Played,
    lessons: RecordedServer | None,
) -> list[Side]:
    """Return the services that recordings make of a server; empty where there is nothing to learn.

    Args:
        listed: the server, with its spec and card.
        start: rows that the services begin with, in those of their tables that have these columns.
        raw: its listing, for its name and what must not be shown.
        played: what is compared, and, where there are no lessons, what is learned from: sequence by
            sequence, from all parts but its own.
        lessons: other recordings of the server; None: there are none.
    """
    if lessons is not None:
        made = _taught(listed, [lessons.sequences[n] for n in sorted(lessons.sequences)], raw)
        return [Side.of(made, start, raw.name)]
    every = range(len(played.sequences))
    folds = [frozenset(every[at::MOST_FOLDS]) for at in range(min(MOST_FOLDS, len(every)))]
    sides = []
    for places in folds if len(folds) > 1 else []:
        others = [played.sequences[place] for place in every if place not in places]
        sides.append(Side.of(_taught(listed, others, raw), start, raw.name, places))
    return sides


def _taught(listed: ListedServer, sequences: Sequences, raw: RawListing) -> MadeService:
    assert listed.spec is not None
    assert listed.card is not None
    return make_service(taught(listed.spec, listed.card, sequences, raw.redactor))


def judged(listed: ListedServer, sides: Sequence[Side], played: Played) -> ServiceFidelity:
    """Return the verdicts on a server's tools, over the sequences of all sides together."""
    assert listed.spec is not None
    assert listed.card is not None
    offered = frozenset(name for side in sides for name in side.offered)
    writers = frozenset(name for side in sides for name in side.writers)
    kept, remarks = [], list(played.remarks)
    for at, (calls, answers) in enumerate(played.sequences):
        side = next(side for side in sides if side.plays(at))
        exchanges = exchanges_of(side.world, listed.card, side.offered, at + 1, calls, answers)
        part, why = comparable(exchanges, side.writers, side.offered)
        kept.append(part)
        if why:
            remarks.append(why)
    return ServiceFidelity(
        service=listed.spec.service,
        tools=compare(offered, _unoffered(sides[0], offered), writers, kept),
        num_sequences=len(kept),
        num_calls=sum(map(len, kept)),
        remarks=tuple(remarks),
    )


def _unoffered(side: Side, offered: frozenset[str]) -> dict[str, str]:
    """Return why a tool is not compared, for each that no side offers."""
    blueprint = side.made.admission.blueprint
    found = {name: f"quarantined: {item.detail}" for name, item in blueprint.quarantined.items()}
    found |= dict.fromkeys(blueprint.tools, "simulated: it claims nothing")
    return {name: why for name, why in found.items() if name not in offered}


def _world(spec: ServiceSpec, made: MadeService, start: Start, server: str) -> World:
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
