"""Where specs of services come from: one list, each entry of one kind."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from components.environment.sources.records import UNKNOWN_LICENCE
from components.records.config import Config, PathText


class ToolsListSource(Config):
    """A JSON file with one `tools/list` answer, or several."""

    kind: Literal["tools_list"] = "tools_list"
    path: PathText
    """The file: `{"tools": [...]}`, the list itself, a whole JSON-RPC response, or a list of
    `{"server", "tools"}`."""
    licence: str = UNKNOWN_LICENCE
    """Licence of the spec, where the file says none."""


class JsonlSource(Config):
    """A file of many servers, one JSON a line; `.gz` is unpacked."""

    kind: Literal["jsonl"] = "jsonl"
    path: PathText
    """The file: lines of `{"server" or "name", "tools", "licence"}`, or bare answers."""
    licence: str = UNKNOWN_LICENCE
    """Licence of the specs, where a line says none."""


class OpenApiSource(Config):
    """An OpenAPI 3 document, JSON or YAML; each operation becomes a tool."""

    kind: Literal["openapi"] = "openapi"
    path: PathText
    """The document."""
    licence: str = UNKNOWN_LICENCE
    """Licence of the document, where it says none."""


class McpConfigSource(Config):
    """A file that lists MCP servers, as a client keeps it. The servers are started."""

    kind: Literal["mcp_config"] = "mcp_config"
    path: PathText
    """The file: `mcpServers` (or `servers`, `context_servers`) by name."""
    servers: tuple[str, ...] = ()
    """Names of the servers to start; empty: all of them."""
    licence: str = UNKNOWN_LICENCE
    """Licence of the specs."""


class DiscoverSource(Config):
    """The MCP servers that the clients of this computer know. None is started unasked."""

    kind: Literal["discover"] = "discover"
    start: tuple[str, ...] = ()
    """Servers to start, as `client:server`; the others are named and left alone."""
    licence: str = UNKNOWN_LICENCE
    """Licence of the specs."""


Source = Annotated[
    ToolsListSource | JsonlSource | OpenApiSource | McpConfigSource | DiscoverSource,
    Field(discriminator="kind"),
]
"""One entry of `environment.sources`. Keys that an entry may leave out have their defaults here: an
entry of a list has no place in `conf/`."""
