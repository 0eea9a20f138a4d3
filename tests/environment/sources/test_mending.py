"""What a messy schema is taken for, written out by hand, and what a validator then says."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest

from components.environment.sources.listing import spec_from_listing
from components.environment.sources.names import (
    from_server,
    service_names,
    to_server,
    tool_rule,
    valid_names,
)
from components.environment.sources.records import ServiceCard, SourceKind
from components.environment.sources.schemas import clean_schema, mend_schema
from components.records.frozen import FrozenDict, thaw

TEXT = {"type": "string"}


@pytest.mark.parametrize(
    ("messy", "mended"),
    [
        ({"type": "str"}, TEXT),
        ({"type": "string | null"}, {"type": ["string", "null"]}),
        ({"type": "list[int]"}, {"type": "array", "items": {"type": "integer"}}),
        ({"type": "date"}, {"type": "string", "format": "date"}),
        ({"type": ["string", "thing"]}, {}),
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        ({"minimum": 3, "exclusiveMinimum": True}, {"exclusiveMinimum": 3}),
        ({"minimum": 3, "exclusiveMinimum": False}, {"minimum": 3}),
        ({"minLength": "2", "maxLength": 5.0}, {"minLength": 2, "maxLength": 5}),
        ({"enum": [1, True, 1, 1.0]}, {"enum": [1, True]}),
        ({"enum": {"a": 1, "b": 2}}, {"enum": ["a", "b"]}),
        (
            {"items": [TEXT], "additionalItems": False},
            {"prefixItems": [TEXT], "items": {"not": {}}},
        ),
        ({"dependencies": {"a": ["b"]}}, {"dependentRequired": {"a": ["b"]}}),
        (
            {"dependencies": {"a": {"required": ["b"]}}},
            {"dependentSchemas": {"a": {"required": ["b"]}}},
        ),
        ({"divisibleBy": 5}, {"multipleOf": 5}),
        ({"pattern": "^[\\w-.]+\\Z"}, {"pattern": "^[\\w\\-.]+$"}),
        ({"pattern": "("}, {}),
        ({"example": "a"}, {"examples": ["a"]}),
        ({"default": 2.0}, {"default": 2}),
        ({"anyOf": TEXT}, {"anyOf": [TEXT]}),
        ({"properties": {"a": "the name"}}, {"properties": {"a": {"description": "the name"}}}),
        ({"properties": {"a": False}}, {"properties": {"a": {"not": {}}}}),
        ({"$ref": "file:///etc/passwd"}, {}),
        ({"$id": "x", "$schema": "y", "x-vendor": 1, "$comment": "z"}, {}),
    ],
)
def test_a_schema_is_taken_for_what_it_can_only_mean(messy: Any, mended: Any) -> None:
    assert clean_schema(messy) == mended


def test_references_of_every_kind_reach_the_same_schema() -> None:
    schema = clean_schema(
        {
            "$id": "https://schema.invalid/root",
            "properties": {
                "a": {"$ref": "#/definitions/T"},
                "b": {"$ref": "https://schema.invalid/root#/definitions/T"},
                "c": {"$ref": "#anchor"},
                "d": {"$ref": "#/models/T"},
                "e": {"$ref": "#/properties/f/items/0"},
                "f": {"type": "array", "items": [{"type": "integer"}]},
            },
            "definitions": {"T": {"$anchor": "anchor", "type": "int"}},
            "models": {"T": {"type": "int"}},
        },
        is_root=True,
    )
    validator = jsonschema_rs.validator_for(schema, offline=True)

    for name in "abcde":
        assert validator.is_valid({name: 1})
        assert not validator.is_valid({name: "x"})


def test_recursion_is_kept_where_it_steps_into_the_value() -> None:
    tree = {"type": "object", "properties": {"kids": {"items": {"$ref": "#/$defs/t"}}}}

    schema = clean_schema({"properties": {"t": {"$ref": "#/$defs/t"}}, "$defs": {"t": tree}})
    validator = jsonschema_rs.validator_for(schema, offline=True)

    assert validator.is_valid({"t": {"kids": [{"kids": []}]}})
    assert not validator.is_valid({"t": {"kids": [{"kids": [3]}]}})


def test_a_mended_schema_is_in_its_final_form() -> None:
    messy = {"type": "dict", "properties": {"a": "int", "b": {"items": [{"$ref": "#"}]}}}

    once = mend_schema(messy)
    again = mend_schema(once.schema)

    assert again.schema == once.schema
    assert again.mends == ()
    assert once.mends


def test_parameters_that_apis_refuse_are_renamed_in_all_that_speaks_of_them() -> None:
    schema = {
        "type": "object",
        "properties": {
            "filter[name]": TEXT,
            "other": {"$ref": "#/properties/filter%5Bname%5D"},
            "inner": {"type": "object", "properties": {"filter[name]": {"type": "integer"}}},
        },
        "required": ["filter[name]"],
        "dependentRequired": {"other": ["filter[name]"]},
        "anyOf": [{"required": ["filter[name]"]}, {"properties": {"filter[name]": {}}}],
    }

    listing = spec_from_listing("svc", [{"name": "find", "inputSchema": schema}])

    tool = thaw(listing.spec.tools["find"].input_schema)
    assert tool["required"] == ["filter_name"]
    assert tool["properties"]["other"] == {"$ref": "#/properties/filter_name"}
    assert list(tool["properties"]["inner"]["properties"]) == ["filter[name]"]
    assert tool["dependentRequired"] == {"other": ["filter_name"]}
    assert tool["anyOf"] == [{"required": ["filter_name"]}, {"properties": {"filter_name": {}}}]
    assert listing.parameter_names == {"find": {"filter_name": "filter[name]"}}


def test_a_call_is_mapped_to_the_servers_names_and_back() -> None:
    tools = [{"name": "find item", "inputSchema": {"properties": {"a b": {}, "c": {}}}}]
    listing = spec_from_listing("svc", tools)
    card = ServiceCard(
        service="svc",
        title="svc",
        kind=SourceKind.TOOLS_LIST,
        origin="x.json",
        spec_hash="0" * 64,
        date="2026-01-31",
        num_listed=1,
        num_tools=1,
        tool_names=FrozenDict(listing.tool_names),
        parameter_names=FrozenDict(
            {tool: FrozenDict(names) for tool, names in listing.parameter_names.items()}
        ),
    )

    call = to_server(card, "find_item", {"a_b": 1, "c": 2})

    assert call == ("find item", {"a b": 1, "c": 2})
    assert from_server(card, *call) == ("find_item", {"a_b": 1, "c": 2})


def test_tool_names_are_valid_different_and_the_same_in_any_order() -> None:
    names = ["get-x", "get x", "get.x", "get_x", "\u540d", "\u524d", "y" * 90, "y" * 91, "___"]

    found = valid_names(names, tool_rule("service"))

    assert found == valid_names(reversed(names), tool_rule("service"))
    assert len(set(found.values())) == len(names)
    assert found["get-x"] == "get-x"
    assert found["get_x"] == "get_x"
    assert all(len(f"service__{name}") <= 64 for name in found.values())


def test_service_names_do_not_depend_on_the_order_of_the_servers() -> None:
    servers = [("Notes", "b"), ("notes", "c"), ("Notes", "a"), ("Notes!", "a")]

    names = dict(zip(servers, service_names(servers), strict=True))
    turned = servers[::-1]

    assert dict(zip(turned, service_names(turned), strict=True)) == names
    assert names["notes", "c"] == "notes"
    assert len(set(names.values())) == 4
