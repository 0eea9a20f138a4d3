"""One measurement: servers listed, their specifications compiled, the same calls made on both
sides, and the verdicts; once more with services that recordings have taught, where asked.

Every sequence gets a fresh server in a fresh folder, and a fresh world. Calls may write wherever
the server can: only servers that can be thrown away belong here.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from components.environment.fidelity.document import Measurement, in_folder
from components.environment.fidelity.exchanges import play_real
from components.environment.fidelity.records import FidelityReport, ServiceFidelity
from components.environment.fidelity.sequences import generated_sequences
from components.environment.fidelity.sides import Played, Side, judged, taught_sides
from components.environment.recorded.files import (
    read_recordings,
    recording_of,
    write_recordings,
)
from components.environment.recorded.records import Answer, Call
from components.environment.recorded.teaching import listing_of
from components.environment.sources.listed import ListedServer, RawListing, make_specs
from components.environment.sources.live import list_entries
from components.environment.sources.server_list import ServerEntry
from components.environment.sources.servers import open_server
from components.environment.synthesis import make_service
from components.errors import SpecError, ToolError
from components.records.frozen import FrozenDict

_NO_DATE = "1970-01-01"
"""Cards are only used for names."""

Tell = Callable[[int, int], None]


async def measure(asked: Measurement, seed: int, rounds: int, tell: Tell) -> FidelityReport:
    """Compare every server of a measurement with the service that is made of its specification.

    Args:
        seed, rounds: of generated sequences.
        tell: gets how many sequences of how many are done of the server at hand.

    Raises:
        SpecError: a file is wrong, or no server could be listed.
    """
    recorded = {} if asked.recordings is None else read_recordings(asked.recordings)
    saved = [listing_of(name, server) for name, server in sorted(recorded.items())]
    raws = saved if recorded else await _list(asked.entries, asked.timeout_seconds)
    lessons = read_recordings(asked.learn) if isinstance(asked.learn, Path) else {}
    services: dict[str, ServiceFidelity] = {}
    taught: dict[str, ServiceFidelity] = {}
    failed: dict[str, str] = {}
    lines: dict[str, list[bytes]] = {}
    for raw, listed in zip(raws, make_specs(raws, _NO_DATE), strict=True):
        if listed.spec is None:
            failed[raw.name] = listed.error
            continue
        made = make_service(listed.spec)
        start = asked.start.get(raw.name, {})
        alone = Side.of(made, start, raw.name)
        if raw.name in recorded:
            found = recorded[raw.name].sequences
            played = Played(sequences=[found[number] for number in sorted(found)])
        else:
            sequences = asked.sequences.get(raw.name) or generated_sequences(
                listed.spec, made.admission.blueprint, made.readings, seed, rounds
            )
            entry = next(item for item in asked.entries if item.name == raw.name)
            played = await _play(entry, listed, sequences, asked.timeout_seconds, tell)
            lines[raw.name] = recording_of(
                raw.name, raw.redactor.value(raw.tools), played.sequences
            )
        services[raw.name] = judged(listed, [alone], played)
        if asked.learn is not None:
            sides = taught_sides(listed, start, raw, played, lessons.get(raw.name))
            taught[raw.name] = judged(listed, sides or [alone], played)
    if not services:
        raise SpecError(f"no server could be listed: {'; '.join(failed.values())}")
    if asked.record is not None:
        write_recordings(asked.record, lines)
    return FidelityReport(
        seed=seed,
        services=FrozenDict(services),
        taught=FrozenDict(taught),
        failed=FrozenDict(failed),
    )


async def _list(entries: Sequence[ServerEntry], timeout_seconds: float) -> list[RawListing]:
    with ExitStack() as stack:
        places = [in_folder(entry, stack.enter_context(_fresh_folder())) for entry in entries]
        return await list_entries(places, timeout_seconds)


@contextmanager
def _fresh_folder() -> Iterator[Path]:
    """A folder that is gone with all that a server wrote into it."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        yield Path(folder).resolve()


async def _play(
    entry: ServerEntry,
    listed: ListedServer,
    sequences: Sequence[Sequence[Call]],
    timeout_seconds: float,
    tell: Tell,
) -> Played:
    assert listed.card is not None
    played = Played()
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
