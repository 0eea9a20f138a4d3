"""Arguments that narrow a read otherwise than by one value of one column."""

from __future__ import annotations

from typing import Any

import pytest

from components.environment.compiler.asks import plain_word, says_how
from components.environment.compiler.compile import compile_spec
from tests.environment.test_compiler import TEXT, spec_of, tool
from tests.environment.test_compiler_asks import MADE, MAKE, names_in, params_of
from tests.environment.test_compiler_upserts import empty_world, play


def listed(description: str = "List lamps.", /, **properties: Any) -> dict[str, Any]:
    return tool("search_lamps", description=description, **properties)


def objects(**properties: Any) -> dict[str, Any]:
    return {"type": "array", "items": {"type": "object", "properties": properties}}


def test_conditions_that_are_written_out_are_heeded() -> None:
    parts = objects(propertyName=TEXT, operator=TEXT, value={})
    groups = objects(filters=parts)
    world = empty_world(MAKE, listed(filters=parts, filterGroups=groups))
    dear = {"propertyName": "price", "operator": "GT", "value": "15"}

    _, said = play(
        world,
        *MADE,
        ("search_lamps", {"filters": [dear]}),
        ("search_lamps", {"filterGroups": [{"filters": [dear]}]}),
        ("search_lamps", {}),
    )

    assert sorted(names_in(said[3])) == ["old", "tall"]
    assert sorted(names_in(said[4])) == ["old", "tall"]
    assert len(names_in(said[5])) == 3


def test_a_batch_is_read_by_the_ids_of_its_elements() -> None:
    batch = tool("lamps_batch_read", "inputs", description="Read many lamps.",
                 inputs=objects(id=TEXT))  # fmt: skip
    get = tool("get_lamp", "id", description="Get a lamp.", id=TEXT)
    world = empty_world(MAKE, get, batch)
    _, said = play(world, *MADE)
    ids = [said[0]["lamp"]["id"], said[2]["lamp"]["id"]]

    _, said = play(world, *MADE, ("lamps_batch_read", {"inputs": [{"id": one} for one in ids]}))

    assert sorted(names_in(said[3])) == ["old", "tall"]


def test_all_is_no_filter() -> None:
    status = {"type": "string", "enum": ["all", "open", "closed"]}
    world = empty_world(MAKE, listed(status=status))

    _, said = play(
        world,
        *MADE,
        ("search_lamps", {"status": "all"}),
        ("search_lamps", {"status": "closed"}),
    )

    assert len(names_in(said[3])) == 3
    assert names_in(said[4]) == ["low"]


@pytest.mark.parametrize(
    ("name", "plain"),
    [("author1", "author"), ("author_2", "author"), ("title_contains", "title"), ("sha256", "")],
)
def test_a_name_that_says_more_than_its_field_is_about_the_field(name: str, plain: str) -> None:
    assert plain_word(params_of(**{name: TEXT})[name]) == plain


def test_what_a_title_contains_is_asked_of_titles() -> None:
    world = empty_world(MAKE, listed(name_contains=TEXT))

    _, said = play(world, *MADE, ("search_lamps", {"name_contains": "l"}))

    assert sorted(names_in(said[3])) == ["low", "old", "tall"]
    assert names_in(play(world, *MADE, ("search_lamps", {"name_contains": "ow"}))[1][3]) == ["low"]


@pytest.mark.parametrize(
    "text", ["Include the words of each verse", "Minimum resolution", "Whether to show names"]
)
def test_a_text_that_is_said_to_be_a_flag_or_a_bound_is_no_column(text: str) -> None:
    assert says_how(params_of(glow={"type": "string", "description": text})["glow"])


def test_a_first_record_is_where_a_list_starts() -> None:
    whole = {"type": "integer"}
    world = empty_world(MAKE, listed(start_record={**whole, "default": 1}, limit=whole))

    _, said = play(
        world,
        *MADE,
        ("search_lamps", {"start_record": 1}),
        ("search_lamps", {"start_record": 2}),
    )

    assert [len(names_in(answer)) for answer in said[3:]] == [3, 2]


def test_how_many_there_are_is_a_number() -> None:
    count = tool("get_lamp_count", description="Get the number of lamps.", status=TEXT)
    world = empty_world(MAKE, listed(), count)

    _, said = play(world, *MADE, ("get_lamp_count", {}), ("get_lamp_count", {"status": "closed"}))

    assert said[3:] == [{"count": 3}, {"count": 1}]


def test_a_condition_in_a_language_of_its_own_is_simulated() -> None:
    query = tool("search_lamps", "cql", description="Search lamps by a query.", cql=TEXT)

    blueprint, _, _ = compile_spec(spec_of(MAKE, query))

    assert blueprint.tools["search_lamps"].simulated


def test_the_title_that_sections_are_asked_by_is_their_pages() -> None:
    page = tool("get_page", "title", description="Get a page.", title=TEXT)
    sections = tool("get_sections", "title", description="List sections of a page.", title=TEXT)

    blueprint, seed, _ = compile_spec(spec_of(page, sections))

    assert "page_title" in blueprint.entities["section"].fields
    titles = {row["title"] for row in seed.tables["page"].values()}
    assert {row["page_title"] for row in seed.tables["section"].values()} <= titles | {None}


def test_a_language_that_answers_come_in_is_no_field_of_a_row() -> None:
    how = {"type": "string", "description": "ISO code of the language of the results"}
    what = {"type": "string", "description": "Programming language of the repository"}

    assert says_how(params_of(language=how)["language"])
    assert not says_how(params_of(language=what)["language"])


def test_two_tables_that_tell_of_one_thing_agree_on_its_title() -> None:
    paper = tool("get_article", "pmid", description="Get an article.", pmid=TEXT)
    file = tool("get_pdf", "pmid", description="Get the pdf.", pmid=TEXT)

    _, seed, _ = compile_spec(spec_of(paper, file))

    titles = {row["pmid"]: row["title"] for row in seed.tables["article"].values()}
    assert {row["pmid"]: row["title"] for row in seed.tables["pdf"].values()} == titles


def test_what_an_argument_is_said_to_name_is_what_its_rows_are_named_by() -> None:
    said = {"type": "string", "description": "The name of the category to list members from"}
    kinds = tool("list_categories", description="List all categories.")
    members = tool("list_members", "category", description="List members.", category=said)

    _, seed, _ = compile_spec(spec_of(kinds, members))

    names = {row["name"] for row in seed.tables["category"].values()}
    assert {row["category"] for row in seed.tables["member"].values()} <= names


def test_a_usual_field_is_not_added_beside_the_column_that_says_it() -> None:
    rates = tool("list_exchange_rates", "base", description="List exchange rates.", base=TEXT)

    blueprint, _, _ = compile_spec(spec_of(rates))

    assert "base" in blueprint.entities["exchange_rate"].fields
    assert "base_currency" not in blueprint.entities["exchange_rate"].fields
