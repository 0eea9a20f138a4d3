"""What became of each server of a source: its raw list first, then its spec and its card."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from components.environment.sources.listing import (
    Listing,
    NoUsableTool,
    notes_of,
    spec_from_listing,
)
from components.environment.sources.names import service_names
from components.environment.sources.records import (
    UNKNOWN_LICENCE,
    Mend,
    QuarantinedTool,
    ServiceCard,
    SourceKind,
)
from components.environment.sources.redaction import Redactor
from components.environment.sources.text import clean_line
from components.errors import SpecError
from components.records.base import hash_record
from components.records.frozen import FrozenDict
from components.records.spec import ServiceSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class RawListing:
    """What one server lists, before anything is made of it."""

    name: str
    """As its source calls it, already without secrets."""
    kind: SourceKind
    origin: str
    """File, command or address, without secrets."""
    source: str
    """As `ServiceSpec.source` names it."""
    tools: Any = None
    """The answer's `tools`, as JSON, however messy."""
    error: str = ""
    """Why there is no list, one line; empty where there is one."""
    title: str = ""
    description: str = ""
    licence: str = UNKNOWN_LICENCE
    security: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    redactor: Redactor = field(default_factory=lambda: Redactor(()))


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedServer:
    """What became of one server of the list."""

    name: str
    spec: ServiceSpec | None
    """None when the server could not be listed; `error` says why."""
    error: str
    """One line; empty when the server was listed."""
    quarantined: tuple[QuarantinedTool, ...] = ()
    """Tools that were left out, and why."""
    mended: tuple[Mend, ...] = ()
    """What was changed in the others."""
    card: ServiceCard | None = None
    """None without a spec, or where the caller gave no date."""
    redactor: Redactor = field(default_factory=lambda: Redactor(()), repr=False)
    """Removes the values that the server was started with."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What was left out and mended, one line each."""
        return notes_of(self.quarantined, self.mended)


def make_specs(servers: Sequence[RawListing], date: str | None) -> tuple[ListedServer, ...]:
    """Return what became of each server, in their order; names do not depend on the order.

    Args:
        servers: of all sources together, so that no two services share a name.
        date: day on which they were read (`2026-01-31`); None: no cards.
    """
    names = service_names([(server.name, _hash(server.tools)) for server in servers])
    return tuple(_listed(server, name, date) for server, name in zip(servers, names, strict=True))


def _listed(server: RawListing, service: str, date: str | None) -> ListedServer:
    if server.error:
        return ListedServer(name=server.name, spec=None, error=server.error)
    try:
        listing = spec_from_listing(
            service,
            server.tools,
            title=server.title,
            description=server.description,
            source=server.source,
            redactor=server.redactor,
        )
    except SpecError as error:
        return ListedServer(
            name=server.name,
            spec=None,
            error=f"{server.name}: {str(error).removeprefix(f'{service}: ')}",
            quarantined=error.quarantined if isinstance(error, NoUsableTool) else (),
        )
    return ListedServer(
        name=server.name,
        spec=listing.spec,
        error="",
        quarantined=listing.quarantined,
        mended=listing.mended,
        card=None if date is None else _card(server, listing, date),
        redactor=server.redactor,
    )


def _card(server: RawListing, listing: Listing, date: str) -> ServiceCard:
    return ServiceCard(
        service=listing.spec.service,
        title=clean_line(server.redactor.name(server.title or server.name)),
        kind=server.kind,
        origin=clean_line(server.redactor.name(server.origin)),
        spec_hash=hash_record(listing.spec),
        date=date,
        licence=clean_line(server.licence) or UNKNOWN_LICENCE,
        num_listed=listing.num_listed,
        num_tools=len(listing.spec.tools),
        security=server.security,
        deprecated=listing.deprecated,
        quarantined=listing.quarantined,
        mended=listing.mended,
        remarks=server.remarks,
        tool_names=FrozenDict(listing.tool_names),
        parameter_names=FrozenDict(
            {tool: FrozenDict(names) for tool, names in _by_name(listing.parameter_names)}
        ),
    )


def _by_name(names: Mapping[str, Mapping[str, str]]) -> list[tuple[str, dict[str, str]]]:
    return sorted((tool, dict(inner)) for tool, inner in names.items())


def _hash(tools: Any) -> str:
    """A hash of whatever a server lists; its order does not count."""
    if not isinstance(tools, list):
        tools = [tools]
    digests = sorted(hashlib.sha256(_bytes(tool)).hexdigest() for tool in tools)
    return hashlib.sha256("".join(digests).encode()).hexdigest()


def _bytes(tool: Any) -> bytes:
    try:
        return json.dumps(tool, sort_keys=True, default=str).encode("utf-8", "surrogatepass")
    except (ValueError, TypeError, RecursionError):
        return b""
