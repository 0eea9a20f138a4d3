"""Files in folders: what is written is found in its place, on invented servers."""

from __future__ import annotations

from typing import Any

from components.environment.compiler.compile import compile_spec
from components.environment.paths import levels_below
from tests.environment.test_compiler import TEXT, spec_of, tool
from tests.environment.test_compiler_upserts import empty_world, play

MAKE = tool("create_folder", "path", description="Create a folder.", path=TEXT)
SAVE = tool("save_sketch", "path", "content", description="Save a sketch.", path=TEXT,
            content=TEXT)  # fmt: skip
READ = tool("read_sketch", "path", description="Read a sketch.", path=TEXT)
SHOW = tool("list_folder", "path", description="List sketches and folders in a folder.", path=TEXT)
TREE = tool("folder_tree", "path", description="Show all that lies in a folder.", path=TEXT)
FIND = tool("search_sketches", "path", "pattern", description="Search for sketches by name.",
            path=TEXT, pattern=TEXT)  # fmt: skip
EVERY = (MAKE, SAVE, READ, SHOW, TREE, FIND)


def shown(answer: Any, noun: str) -> list[str]:
    return [row["path"] for row in answer[noun]]


def test_a_folder_shows_what_lies_in_it_and_a_tree_what_lies_below() -> None:
    _, said = play(
        empty_world(*EVERY),
        ("create_folder", {"path": "oak"}),
        ("create_folder", {"path": "oak/leaf"}),
        ("save_sketch", {"path": "oak/leaf/vein.svg", "content": "green lines"}),
        ("save_sketch", {"path": "root.svg", "content": "brown lines"}),
        ("list_folder", {"path": "oak"}),
        ("list_folder", {"path": "."}),
        ("folder_tree", {"path": "oak/"}),
    )

    assert (shown(said[4], "folders"), shown(said[4], "sketches")) == (["oak/leaf"], [])
    assert (shown(said[5], "folders"), shown(said[5], "sketches")) == (["oak"], ["root.svg"])
    assert shown(said[6], "sketches") == ["oak/leaf/vein.svg"]
    assert "content" not in said[6]["sketches"][0]


def test_a_file_needs_its_folder_where_tools_make_folders() -> None:
    asked = ("save_sketch", {"path": "elm/bark.svg", "content": "grey"})

    _, said = play(empty_world(*EVERY), asked, ("list_folder", {"path": "elm"}))
    _, free = play(empty_world(SAVE, READ, tool("list_sketches", folder=TEXT)), asked)

    assert said == ["not_found", "not_found"]
    assert free[0]["sketch"]["path"] == "elm/bark.svg"


def test_a_pattern_is_held_against_paths_and_not_against_what_files_hold() -> None:
    _, said = play(
        empty_world(*EVERY),
        ("save_sketch", {"path": "vein.svg", "content": "as in root.png"}),
        ("save_sketch", {"path": "root.png", "content": "brown"}),
        ("search_sketches", {"path": ".", "pattern": "*.png"}),
    )

    assert shown(said[2], "sketches") == ["root.png"]


def test_files_of_a_seed_lie_in_its_folders() -> None:
    _, seed, _ = compile_spec(spec_of(*EVERY))
    folders = [str(row["path"]) for row in seed.tables["folder"].values()]

    for row in seed.tables["sketch"].values():
        assert any(levels_below(str(row["path"]), folder) == 1 for folder in folders)
