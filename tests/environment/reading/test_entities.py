"""Which tools are taken to be about one kind of record."""

from __future__ import annotations

from typing import Any

from components.environment.reading.read import read_spec
from tests.environment.reading.builders import spec, tool


def _entities(*tools: dict[str, Any], title: str = "") -> dict[str, str | None]:
    made = spec(*tools)
    made = made.model_copy(update={"title": title or made.title})
    return {name: reading.entity for name, reading in read_spec(made).items()}


def test_a_search_named_after_its_server_is_about_what_it_looks_for() -> None:
    found = _entities(
        tool("search_loomipedia", "Search Loomipedia for articles matching a query.", "query"),
        tool("get_article", "Get the full text of an article", "title"),
        title="Loomipedia",
    )
    assert found == {"search_loomipedia": "article", "get_article": "article"}


def test_a_server_that_is_called_after_its_records_keeps_their_noun() -> None:
    found = _entities(
        tool("list_looms", "List all looms", "limit"),
        tool("get_loom", "Get a loom by its ID", "loom_id"),
        title="Looms",
    )
    assert set(found.values()) == {"loom"}


def test_a_search_without_a_noun_is_about_what_its_sentence_looks_for() -> None:
    found = _entities(
        tool("search_nodes", "Search for entities by text", "query"),
        tool("create_entity", "Create an entity", "name"),
        tool("list_entities", "List all entities"),
    )
    assert found["search_nodes"] == "entity"


def test_parts_of_one_file_are_set_on_that_file() -> None:
    found = _entities(
        tool("get_frontmatter", "Read the frontmatter of a file", "file_path"),
        tool("set_draft", "Set the draft status in the frontmatter", "file_path", "draft"),
        tool("set_headline", "Set the headline in the frontmatter", "file_path", "headline"),
    )
    assert set(found.values()) == {"file"}


def test_what_is_set_by_id_alone_belongs_to_the_record_that_has_the_id() -> None:
    found = _entities(
        tool("create_component", "Create a component", "kind"),
        tool("get_component", "Get a component", "id"),
        tool("delete_component", "Delete a component", "id"),
        tool("set_material", "Set the material", "id", "material"),
    )
    assert found["set_material"] == "component"


def test_what_only_a_general_noun_reads_is_made_there() -> None:
    found = _entities(
        tool("create_rectangle", "Create a new rectangle", "width", "height"),
        tool("create_frame", "Create a new frame", "name"),
        tool("get_node", "Get a node by its ID", "node_id"),
        tool("delete_node", "Delete a node", "node_id"),
    )
    assert set(found.values()) == {"node"}


def test_what_has_a_read_of_its_own_is_no_part_of_a_general_noun() -> None:
    found = _entities(
        tool("create_rectangle", "Create a new rectangle", "width", "height"),
        tool("get_rectangle", "Get a rectangle by its ID", "rectangle_id"),
        tool("get_node", "Get a node by its ID", "node_id"),
    )
    assert found["create_rectangle"] == "rectangle"


def test_create_or_update_is_about_what_follows_both() -> None:
    found = _entities(
        tool("create_or_update_route", "Gateway tool for routes - create operations", "name"),
        tool("get_route", "Get a route by its ID", "route_id"),
    )
    assert found["create_or_update_route"] == "route"


def test_a_search_that_is_called_after_how_or_where_it_looks_is_about_what_is_got() -> None:
    found = _entities(
        tool("search_loomed_key_words", "", "key_words"),
        tool("search_loomed_advanced", "", "author"),
        tool("get_loomed_article", "Get an article.", "pmid"),
        tool("download_loomed_pdf", "Download a pdf.", "pmid"),
        title="Loomed",
    )

    assert found["search_loomed_key_words"] == "article"
    assert found["search_loomed_advanced"] == "article"


def test_a_search_of_many_things_is_about_the_first_of_them_that_is_got() -> None:
    found = _entities(
        tool("search", "Search Bolts across repositories, workspaces and code.", "query"),
        tool("get_workspace", "Get a workspace.", "slug"),
        tool("get_repository", "Get a repository.", "slug", "repo"),
        title="Bolts",
    )

    assert found["search"] == "repository"


def test_what_a_browser_visited_is_no_browser() -> None:
    found = _entities(
        tool("get_browser_history", "Get the recent browser history."),
        tool("list_browsers", "List the installed browsers."),
    )

    assert found["list_browsers"] == "browser"
    assert found["get_browser_history"] != "browser"


def test_a_setter_is_about_what_its_server_lists_though_its_id_is_of_another() -> None:
    found = _entities(
        tool("list_threads", "List the threads of a loom", "loom_id"),
        tool("update_thread", "Change a thread of a loom", "loom_id", "colour"),
        tool("get_loom", "Get a loom by its ID", "loom_id"),
        tool("list_looms", "List all looms"),
    )
    assert found["update_thread"] == "thread"
