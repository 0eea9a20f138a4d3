"""Sources and recordings, read together: specs that know what the real servers were seen to do.

Owns whom a recording teaches: the service of the server of its name. A recorded server that no
source lists is one of its own, by the listing that the file holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from components.environment.recorded.files import RecordedServer, read_recordings
from components.environment.recorded.lessons import taught
from components.environment.sources.config import Source
from components.environment.sources.listed import ListedServer, RawListing
from components.environment.sources.live import Progress
from components.environment.sources.read import read_sources
from components.environment.sources.records import SourceKind
from components.errors import SpecError
from components.records.base import hash_record


def read_lessons(paths: Sequence[str]) -> dict[str, RecordedServer]:
    """Return what files of recordings hold, by server: of one that several hold, the listing of the
    last, and the calls of all.

    Raises:
        SpecError: a file is wrong; it names the key.
    """
    found: dict[str, RecordedServer] = {}
    for at, path in enumerate(paths):
        try:
            servers = read_recordings(Path(path))
        except SpecError as error:
            raise SpecError(f"environment.recordings[{at}]: {error}") from None
        for name, server in servers.items():
            known = [] if name not in found else list(found[name].sequences.values())
            every = [*known, *server.sequences.values()]
            found[name] = RecordedServer(
                tools=server.tools, sequences=dict(enumerate(every, start=1))
            )
    return found


def listing_of(name: str, server: RecordedServer) -> RawListing:
    """Return what a recorded server lists."""
    return RawListing(
        name=name,
        kind=SourceKind.JSONL,
        origin="recordings",
        source=f"file:{name}",
        tools=server.tools,
        title=name,
    )


async def read_taught(
    sources: Sequence[Source],
    recordings: Sequence[str],
    timeout_seconds: float,
    *,
    date: str,
    progress: Progress | None = None,
) -> tuple[ListedServer, ...]:
    """Read every source, and teach each service what recordings of its server show.

    Args:
        sources: in the configuration's order.
        recordings: files of recorded answers.
        timeout_seconds: deadline of each live server.
        date: day of the reading, for the cards (`2026-01-31`).
        progress: told of live servers how many are done, of how many, and which run.

    Returns:
        The servers of the sources in their order, then those that only recordings hold, by name.

    Raises:
        SpecError: a file cannot be read; it names the key.
    """
    lessons = read_lessons(recordings)
    spare = [listing_of(name, server) for name, server in sorted(lessons.items())]
    listed = await read_sources(sources, timeout_seconds, date=date, spare=spare, progress=progress)
    return tuple(_taught(server, lessons) for server in listed)


def _taught(listed: ListedServer, lessons: Mapping[str, RecordedServer]) -> ListedServer:
    lesson = lessons.get(listed.name)
    if lesson is None or listed.spec is None or listed.card is None:
        return listed
    spec = taught(listed.spec, listed.card, list(lesson.sequences.values()), listed.redactor)
    seen = [tool.observed for tool in spec.tools.values() if tool.observed is not None]
    num_calls = sum(item.num_calls for item in seen)
    shapes = sum(item.has_schema for item in seen)
    remark = f"outputs observed in {num_calls} calls; {shapes} output schemas are made of them"
    card = listed.card.model_copy(
        update={"spec_hash": hash_record(spec), "remarks": (*listed.card.remarks, remark)}
    )
    return replace(listed, spec=spec, card=card)
