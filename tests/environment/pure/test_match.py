"""Claims about which tools are functions of the library: never by a word alone."""

from __future__ import annotations

from typing import Any

import pytest

from components.environment.params import read_params
from components.environment.pure.match import match_tool
from components.records.frozen import freeze
from components.records.spec import ToolSpec

NUMBER, TEXT = {"type": "number"}, {"type": "string"}


def function_of(name: str, *required: str, **properties: Any) -> str | None:
    schema = {"type": "object", "properties": properties, "required": list(required)}
    found = match_tool(name, read_params(ToolSpec(name=name, input_schema=freeze(schema))))
    return None if found is None else found.function


@pytest.mark.parametrize(
    ("name", "properties", "function"),
    [
        ("add", {"a": NUMBER, "b": NUMBER}, "add"),
        ("multiply_numbers", {"x": NUMBER, "y": NUMBER}, "multiply"),
        ("calculate", {"expression": TEXT}, "calculate"),
        ("hashData", {"input": TEXT, "algorithm": TEXT}, "hash"),
        ("encodeBase64", {"input": TEXT}, "encode"),
        ("get_current_time", {"timezone": TEXT}, "time_in_zone"),
        ("convert_time", {"source_timezone": TEXT, "time": TEXT, "target_timezone": TEXT},
         "convert_time"),
        ("mean", {"numbers": {"type": "array", "items": NUMBER}}, "mean"),
    ],
)  # fmt: skip
def test_plain_functions_are_found(name: str, properties: Any, function: str) -> None:
    assert function_of(name, *properties, **properties) == function


@pytest.mark.parametrize(
    ("name", "properties"),
    [
        ("add_note", {"a": NUMBER, "b": NUMBER}),
        ("reverse_geocode", {"text": TEXT}),
        ("add", {"title": TEXT}),
        ("calculate_route", {"expression": TEXT}),
        ("hash", {"input": TEXT, "secret": TEXT}),
        ("sum_of_orders", {"a": NUMBER, "b": NUMBER}),
        ("divide", {"a": NUMBER}),
    ],
)
def test_a_word_alone_is_not_enough(name: str, properties: Any) -> None:
    assert function_of(name, *properties, **properties) is None


def told_function(name: str, description: str, **properties: Any) -> str | None:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    params = read_params(ToolSpec(name=name, input_schema=freeze(schema)))
    found = match_tool(name, params, description=description)
    return None if found is None else found.function


def test_what_a_parameter_means_must_be_known_even_where_it_may_be_left_out() -> None:
    plain = {"input": TEXT}

    assert function_of("hash", "input", **plain) == "hash"
    assert function_of("hash", "input", **plain, salt=TEXT) is None


def test_a_description_decides_where_a_name_means_two_things() -> None:
    numbers = {"numbers": {"type": "array", "items": NUMBER}}

    assert told_function("variance", "Sample variance.", **numbers) == "variance"
    assert told_function("variance", "Population variance.", **numbers) == "population_variance"
    assert told_function("variance", "Variance.", **numbers) is None
    pair = {"a": NUMBER, "b": NUMBER}
    assert told_function("div", "Returns integer division result.", **pair) == "floor_divide"
    assert told_function("div", "Divide two numbers.", **pair) == "divide"
