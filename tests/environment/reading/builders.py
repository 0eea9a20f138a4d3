"""Builders of small specs for the tests of the reading."""

from __future__ import annotations

from typing import Any

from components.environment.sources.listing import spec_from_listing
from components.records.spec import ServiceSpec


def tool(name: str, description: str = "", /, *needed: str, **properties: Any) -> dict[str, Any]:
    """Return a tool as a server lists it.

    Args:
        needed: names of required text parameters.
        properties: schemas of further parameters, all optional.
    """
    schema = {
        "type": "object",
        "properties": {**{one: {"type": "string"} for one in needed}, **properties},
        "required": list(needed),
    }
    return {"name": name, "description": description, "inputSchema": schema}


def spec(*tools: dict[str, Any], title: str = "Garden") -> ServiceSpec:
    """Return the spec of a server that lists these tools."""
    return spec_from_listing("garden", list(tools), title=title).spec
