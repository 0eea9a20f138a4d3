"""Values are made to fit the schema that a spec gives."""

from __future__ import annotations

import random
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.environment.archetypes.cast import cast_of
from components.environment.archetypes.field_meaning import shape_of
from components.environment.archetypes.fit import fitted
from components.environment.archetypes.rows import row_values
from components.environment.archetypes.table_shape import TableShape

NOW = "2026-03-02T09:00:00Z"
NAMES = st.sampled_from(
    ["title", "due_date", "email", "amount", "labels", "status", "count", "url", "notes", "ref"]
)


@st.composite
def schemas(draw: st.DrawFn) -> dict[str, Any]:
    """Schemas of one field that allow something."""
    kind = draw(st.sampled_from(["string", "integer", "number", "boolean", "array", "enum"]))
    match kind:
        case "enum":
            values = st.lists(st.text("abc|! ", min_size=1, max_size=5), min_size=1, unique=True)
            return {"type": "string", "enum": draw(values)}
        case "string":
            least = draw(st.integers(0, 12))
            bounds = {"minLength": least, "maxLength": least + draw(st.integers(0, 20))}
            pattern = st.sampled_from(["^[a-z]{3}$", r"^[A-Z]{2}-\d{4}$", "^(red|green)$"])
            form = st.sampled_from(["date", "date-time", "email", "uri", "uuid", "ipv4"])
            return {
                "type": "string",
                **draw(
                    st.one_of(
                        st.just(bounds),
                        pattern.map(lambda text: {"pattern": text}),
                        form.map(lambda text: {"format": text}),
                    )
                ),
            }
        case "integer" | "number":
            low = draw(st.integers(-1000, 1000))
            high = low + draw(st.integers(2, 500))
            step = {"multipleOf": 2} if kind == "integer" and draw(st.booleans()) else {}
            ends = draw(st.sampled_from(["inclusive", "exclusive", "low", "none"]))
            found = {
                "inclusive": {"minimum": low, "maximum": high},
                "exclusive": {"exclusiveMinimum": low, "exclusiveMaximum": high + 2},
                "low": {"minimum": low},
                "none": {},
            }[ends]
            return {"type": kind, **found, **step}
        case "array":
            item = draw(st.sampled_from([{"type": "string"}, {"type": "integer"}]))
            return {"type": "array", "items": item, "minItems": 1, "maxItems": 2}
        case _:
            return {"type": kind}


@given(name=NAMES, schema=schemas(), seed=st.integers(0, 99))
@settings(max_examples=150, deadline=None)
def test_every_value_of_a_row_fits_its_schema(name: str, schema: dict[str, Any], seed: int) -> None:
    shape = TableShape(
        noun="record",
        fields={name: shape_of(name, schema["type"], schema)},
        schemas={name: schema},
    )

    rows = row_values(shape, 4, seed=str(seed), cast=cast_of(), now=NOW)

    validator = jsonschema_rs.validator_for(schema, validate_formats=True)
    assert [row[name] for row in rows if not validator.is_valid(row[name])] == []


@pytest.mark.parametrize(
    ("value", "schema", "wanted"),
    [
        ("Harbor survey", {"type": "string", "maxLength": 6}, "Harbor"),
        (12.6, {"type": "integer"}, 13),
        (40, {"type": "string"}, "40"),
        ("a", {"type": "array", "items": {"type": "string"}}, ["a"]),
        (7, {"type": "integer", "multipleOf": 5}, 5),
        ("Amber Dune", {"type": "string", "pattern": "^[a-z-]+$"}, "amber-dune"),
        ("as it is", {"type": "string"}, "as it is"),
    ],
)
def test_a_value_is_bent_before_it_is_drawn_again(
    value: Any, schema: dict[str, Any], wanted: Any
) -> None:
    assert fitted(value, schema, random.Random(0)) == wanted


def test_a_reference_is_followed_into_its_document() -> None:
    document = {"$defs": {"Level": {"enum": ["low", "high"]}}}

    found = fitted("other", {"$ref": "#/$defs/Level"}, random.Random(0), document)

    assert found in ("low", "high")


def test_a_schema_that_allows_nothing_leaves_the_value_as_it_is() -> None:
    assert fitted("kept", {"not": {}}, random.Random(0)) == "kept"
