"""Hard tools: each ends as its line says, all are accounted for, and what is kept can be used."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import jsonschema_rs
import pytest

from components.environment.sources.listing import Listing, NoUsableTool, spec_from_listing
from components.environment.sources.names import service_names
from components.environment.sources.records import QuarantineReason
from components.environment.sources.references import resolve_pointer, walk_schemas
from components.records.frozen import thaw
from tests.environment.sources.hard_specs import HARD_SPECS, PLAIN_TOOLS, HardSpec, listing_of
from tests.environment.sources.random_schemas import RandomSchemas

REAL = Path(__file__).parents[4] / "shared" / "data" / "mcp_specs.jsonl.gz"


def check_listing(listing: Listing) -> None:
    """What every spec must hold, however hard its source was."""
    assert len(listing.spec.tools) + len(listing.quarantined) == listing.num_listed
    for name, tool in listing.spec.tools.items():
        policy_name = f"{listing.spec.service}__{name}"
        assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", policy_name)
        schema = thaw(tool.input_schema)
        assert schema["type"] == "object"
        assert set(schema.get("required", ())) <= set(schema["properties"])
        for parameter in schema["properties"]:
            assert re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", parameter)
        for part in walk_schemas(schema):
            if "$ref" in part:
                assert resolve_pointer(schema, part["$ref"]) is not None
        validator = jsonschema_rs.validator_for(schema, offline=True)
        validator.is_valid({parameter: {"a": [1]} for parameter in schema["properties"]})
        json.dumps(schema, allow_nan=False).encode()


def how_it_ended(listing: Listing) -> str:
    """The end of the last tool of a list, in the words of the hard specs."""
    last = listing.num_listed - 1
    for tool in listing.quarantined:
        if tool.index == last:
            return tool.reason.value
    name = list(listing.spec.tools)[-1]
    return "mended" if any(mend.tool == name for mend in listing.mended) else "kept"


@pytest.mark.parametrize("hard", HARD_SPECS, ids=lambda hard: hard.tries)
def test_a_hard_tool_ends_as_it_must_and_costs_no_other(hard: HardSpec) -> None:
    tools = listing_of(hard)

    listing = spec_from_listing("svc", tools)

    assert how_it_ended(listing) == hard.end
    assert {tool["name"] for tool in PLAIN_TOOLS} <= set(listing.spec.tools)
    check_listing(listing)


def test_there_are_enough_of_them_and_every_reason_is_met() -> None:
    ends = {hard.end for hard in HARD_SPECS}

    assert len(HARD_SPECS) >= 200
    assert len({hard.tries for hard in HARD_SPECS}) == len(HARD_SPECS)
    # What is unreadable after all mending has not been found yet; the validator has the last word.
    assert {*QuarantineReason, "kept", "mended"} - ends == {QuarantineReason.UNREADABLE}


def read_random(seed: int) -> None:
    """Read one random listing; whatever it is, it ends well."""
    tools = RandomSchemas(seed).listing()
    try:
        listing = spec_from_listing("svc", tools)
    except NoUsableTool as error:
        accounted = len(error.quarantined)
    else:
        check_listing(listing)
        accounted = len(listing.spec.tools) + len(listing.quarantined)
    assert accounted == len(tools)


def test_random_schemas_are_read_without_an_exception_and_accounted_for() -> None:
    for seed in range(400):
        read_random(seed)


@pytest.mark.slow
def test_ten_thousand_random_tools_are_read_without_an_exception() -> None:
    counted, seed = 0, 100_000
    while counted < 10_000:
        read_random(seed)
        counted += len(RandomSchemas(seed).listing())
        seed += 1


def test_the_same_list_gives_the_same_spec_and_the_order_changes_no_name() -> None:
    tools = [tool for seed in range(30) for tool in RandomSchemas(seed).listing()]
    named = {tool["name"]: tool for tool in tools if isinstance(tool, dict) and "name" in tool
             and isinstance(tool["name"], str)}  # fmt: skip

    first = spec_from_listing("svc", list(named.values()))
    again = spec_from_listing("svc", list(named.values()))
    turned = spec_from_listing("svc", list(reversed(named.values())))

    assert first == again
    assert dict(first.tool_names) == dict(turned.tool_names)
    assert set(first.spec.tools) == set(turned.spec.tools)


@pytest.mark.skipif(not REAL.exists(), reason="the real specifications are not on this machine")
def test_real_servers_are_read_whole() -> None:
    with gzip.open(REAL, "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    names = service_names([(row["server"], str(at)) for at, row in enumerate(rows)])

    listings = [
        spec_from_listing(name, row["tools"]) for name, row in zip(names, rows, strict=True)
    ]

    assert len(listings) == 452
    assert sum(listing.num_listed for listing in listings) == 2975
    left_out = [tool for listing in listings for tool in listing.quarantined]
    assert {tool.reason for tool in left_out} == {QuarantineReason.DUPLICATE_NAME}
    assert len(left_out) == 2
    for listing in listings:
        check_listing(listing)
