"""What is known of a service before it is one: its card, what was mended, what was left out."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from components.records.base import Record
from components.records.frozen import FrozenDict

UNKNOWN_LICENCE = "unknown"


class SourceKind(StrEnum):
    """How a spec came here."""

    STDIO = "stdio"
    """A live server, started by command."""
    HTTP = "http"
    """A live server, reached by address."""
    TOOLS_LIST = "tools_list"
    """A file with one saved `tools/list` answer."""
    JSONL = "jsonl"
    """A file with one saved answer a line."""
    OPENAPI = "openapi"
    """An OpenAPI document, each operation a tool."""


class QuarantineReason(StrEnum):
    """Why a listed tool is not in the spec. The list is closed."""

    NOT_A_TOOL = "not_a_tool"
    """What stands in the list is no object."""
    NO_NAME = "no_name"
    """It has no name, or one that is no text."""
    DUPLICATE_NAME = "duplicate_name"
    """Another tool of the server has the name, so that a call could mean either."""
    NOT_AN_OBJECT = "not_an_object"
    """Its arguments are something else than an object of named values."""
    PARAMETER_NAMES = "parameter_names"
    """A parameter has a name that model APIs refuse, and rules that hang on the name."""
    UNCALLABLE = "uncallable"
    """No arguments at all can be valid."""
    TOO_DEEP = "too_deep"
    """Its schema is nested deeper than any value may be."""
    TOO_LARGE = "too_large"
    """Its schema is longer than a model could read."""
    TOO_TANGLED = "too_tangled"
    """Checking one value against its schema would take too many steps."""
    UNREADABLE = "unreadable"
    """Its schema is no JSON Schema even after mending."""


class QuarantinedTool(Record):
    """A listed tool that is not offered."""

    index: int = Field(ge=0)
    """Place in the server's list, from 0."""
    name: str
    """As the server says it, cleaned; empty where there is none."""
    reason: QuarantineReason
    detail: str = ""
    """The rest of the sentence, for a person."""


class Mend(Record):
    """One change that was made to a tool so that it can be used."""

    tool: str
    """Name in the spec."""
    place: str
    """JSON pointer into the tool as it was listed."""
    what: str
    """What was found and what it was taken for."""


class ServiceCard(Record):
    """Where a service's spec comes from, and what was done to it on the way."""

    schema_version: int = Field(default=1, ge=1, le=1)
    service: str
    """Name of the service."""
    title: str
    """Name by which the source calls it."""
    kind: SourceKind
    origin: str
    """File name, command name or address without path; never a value that a server was started
    with."""
    spec_hash: str
    """Content hash (64 hex digits) of the spec."""
    date: str = Field(pattern=r"^\d{4}-\d{2}-\d{2}$")
    """Day on which the source was read, as the caller says."""
    licence: str = UNKNOWN_LICENCE
    """As the source or the configuration says; `unknown` where neither does."""
    num_listed: int = Field(ge=0)
    """Items in the source's list."""
    num_tools: int = Field(ge=0)
    """Tools in the spec; the rest is `quarantined`."""
    security: tuple[str, ...] = ()
    """Security schemes that an OpenAPI document names."""
    deprecated: tuple[str, ...] = ()
    """Tools that the source calls deprecated."""
    quarantined: tuple[QuarantinedTool, ...] = ()
    mended: tuple[Mend, ...] = ()
    remarks: tuple[str, ...] = ()
    """What else had to be left out, one line each."""
    tool_names: FrozenDict[str, str] = FrozenDict()
    """Name in the spec -> name as the server says it, where the two differ."""
    parameter_names: FrozenDict[str, FrozenDict[str, str]] = FrozenDict()
    """Tool in the spec -> parameter in the spec -> parameter as the server says it, where they
    differ."""
