"""What parameters are said to take: read from words, and held by rows."""

from __future__ import annotations

from typing import Any

import pytest

from components.environment.compiler.told import listed_fields, told_fields, told_meaning
from components.environment.examples import examples_of, like
from components.environment.params import read_params
from components.environment.sources.listing import spec_from_listing
from components.environment.synthesis import make_service


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        (
            {"type": "string", "description": "Stock code, e.g. 'sh.600000' or 'sz.000001'"},
            ("sh.600000", "sz.000001"),
        ),
        ({"type": "string", "description": "Pair, e.g. BTC/USDT, ETH/USDT"}, None),
        ({"type": "string", "description": "Region (default: wt-wt)"}, ("wt-wt",)),
        ({"type": "integer", "description": "How many", "default": 5}, (5,)),
        ({"type": "integer", "examples": [3, "4", 4.5, True]}, (3, 4)),
        ({"type": "string", "description": "Start date in 'YYYY-MM-DD' format"}, ()),
        ({"type": "string", "description": "The 'big' one of the user's things"}, ("big",)),
        ({"type": "string", "description": "What the user's friend said"}, ()),
        ({"type": "string", "enum": ["a", "b"], "description": "e.g. 'a'"}, ()),
        ({"type": "array", "description": "e.g. 'a'"}, ()),
        (
            {"type": "string", "description": "One of: relevance, date, views"},
            ("relevance", "date", "views"),
        ),
        ({"type": "string", "description": "Sort order asc|desc"}, ("asc", "desc")),
        ({"type": "string", "description": "Kind (12: sight, 14: museum)"}, ("12", "14")),
        ({"type": "string", "description": "In the format 'txid_vout'"}, ()),
        ({"type": "string", "description": "e.g. 'owner/repo' or 'x.y.z'"}, ()),
        ({"type": "string", "description": "A currency, see '/list/currencies' for values"}, ()),
        ({"type": "string", "default": None, "description": "null or 'none' as default"}, ()),
    ],
)
def test_examples_are_what_the_words_say(
    schema: dict[str, Any], said: tuple[Any, ...] | None
) -> None:
    tool = {"name": "get_thing", "inputSchema": {"type": "object", "properties": {"x": schema}}}
    (spec,) = spec_from_listing("things", [tool]).spec.tools.values()

    found = examples_of(read_params(spec)["x"])

    if said is None:
        assert found[0] == "BTC/USDT"
    else:
        assert found == said


def test_an_argument_of_a_docstring_describes_its_parameter() -> None:
    tool = {
        "name": "get_stock",
        "description": "Get a stock.\n\nArgs:\n    code: the stock code (e.g., 'sh.600000')\n",
        "inputSchema": {"type": "object", "properties": {"code": {"type": "string"}}},
    }
    (spec,) = spec_from_listing("things", [tool]).spec.tools.values()

    assert examples_of(read_params(spec)["code"]) == ("sh.600000",)


def test_others_like_an_example_differ_in_their_digits() -> None:
    assert like("sh.600000", 1) != like("sh.600000", 2)
    assert (like("sh.600000", 1) or "").startswith("sh.6")
    assert like("AAPL", 1) is None


def test_rows_hold_what_the_parameters_are_said_to_take() -> None:
    text = {"type": "string"}
    tools = [
        {
            "name": "get_stock",
            "description": "Get a stock",
            "inputSchema": {
                "type": "object",
                "properties": {"code": {**text, "description": "e.g. 'sh.600000', 'sz.000001'"}},
                "required": ["code"],
            },
        },
        {"name": "list_stocks", "description": "List all stocks", "inputSchema": {}},
    ]

    made = make_service(spec_from_listing("things", tools).spec)
    codes = [row["code"] for row in made.seed.tables["stock"].values()]

    assert {"sh.600000", "sz.000001"} <= set(codes)
    assert len(set(codes)) == len(codes)


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        (
            "Get a hotel, including its name, star rating and price range.",
            ("name", "star_rating", "price_range"),
        ),
        ("Returns a table with columns such as Rank, Name, and Price.", ("rank", "name", "price")),
        ("Returns title, authors and abstract of a paper", ("title", "authors", "abstract")),
        ("Works with Python, Rust and Go", ()),
        ("Search the web, including other things and more.", ()),
        ("Get a user.", ()),
    ],
)
def test_a_list_of_fields_is_read_from_a_description(text: str, fields: tuple[str, ...]) -> None:
    assert told_fields(text) == fields


def test_a_list_of_lines_names_the_fields_of_an_answer() -> None:
    items = "Search apps. Returns a list of apps with:\n- icon: Image URL\n- isFree: Boolean\n"
    whole = (
        "Returns:\n    A dictionary containing:\n    - count: Number of matches\n    - area: Name\n"
    )
    asked = "Args:\n    - query: Words\n    - limit: How many\n"

    assert listed_fields(items, is_many=True) == {"icon": "Image URL", "is_free": "Boolean"}
    assert listed_fields(whole) == {"count": "Number of matches", "area": "Name"}
    assert listed_fields(whole, is_many=True) == {}
    assert listed_fields(asked) == {}


@pytest.mark.parametrize(
    ("word", "said", "meaning"),
    [
        ("reviews", "", "list:sentence:review"),
        ("star_rating", "", "rating"),
        ("two_sided", "Whether both sides show", "flag"),
        ("stars", "Number of stars", "count.medium"),
        ("good_for_bar", "", None),
        ("structure", "", None),
    ],
)
def test_a_field_whose_name_says_nothing_is_left_out(
    word: str, said: str, meaning: str | None
) -> None:
    assert told_meaning(word, said) == meaning


def test_another_value_like_an_id_is_an_id_and_one_like_a_day_is_none() -> None:
    other = like("dQw4w9WgXcQ", 1)

    assert other not in (None, "dQw4w9WgXcQ")
    assert len(str(other)) == len("dQw4w9WgXcQ")
    assert str(other).isalnum()
    assert like("2024-05-01", 1) is None
    assert like("1920x1080", 1) is None
