"""Cells of sheets, which are there without having been made, on invented servers."""

from __future__ import annotations

from typing import Any

import pytest

from components.environment.compiler.compile import compile_spec
from components.environment.gates.run import admit_service
from components.environment.pure.functions import call
from components.environment.pure.values import PureError
from tests.environment.test_compiler import TEXT, spec_of, tool
from tests.environment.test_compiler_upserts import empty_world, play

COUNT = {"type": "integer"}
ROWS = {"type": "array", "items": {"type": "array", "items": {}}}
MAKE = tool("create_sheet", "sheet", description="Create an empty sheet.", sheet=TEXT)
DROP = tool("delete_sheet", "sheet", description="Delete a sheet.", sheet=TEXT)
PUT = tool("write_cells", "sheet", "start_cell", "values", description="Write values into cells.",
           sheet=TEXT, start_cell=TEXT, values=ROWS)  # fmt: skip
READ = tool("read_cells", "sheet", description="Read the values of cells.", sheet=TEXT, range=TEXT)
CLEAR = tool("clear_cells", "sheet", "range", description="Clear cells.", sheet=TEXT, range=TEXT)
TAKE = tool("delete_rows", "sheet", "start", description="Delete rows.", sheet=TEXT, start=COUNT,
            count=COUNT)  # fmt: skip
SORT = tool("sort_range", "sheet", "range", "column", description="Sort the rows of a range.",
            sheet=TEXT, range=TEXT, column=TEXT)  # fmt: skip
EVERY = (MAKE, DROP, PUT, READ, CLEAR, TAKE, SORT)
LOOMS = [["loom", 3], ["warp", 1], ["weft", 2]]


def after(*calls: tuple[str, dict[str, Any]]) -> list[Any]:
    first = [("create_sheet", {}), ("write_cells", {"start_cell": "B2", "values": LOOMS})]
    placed = [(name, {"sheet": "mill", **arguments}) for name, arguments in (*first, *calls)]
    return play(empty_world(*EVERY), *placed)[1]


def test_what_is_written_is_read_where_it_was_written() -> None:
    said = after(
        ("read_cells", {}), ("read_cells", {"range": "C2:C3"}), ("read_cells", {"range": "Z9"})
    )

    assert said[1] == {"sheet": "mill", "range": "B2:C4"}
    assert said[2] == {
        "range": "A1:C4",
        "values": ((), (None, "loom", 3), (None, "warp", 1), (None, "weft", 2)),
    }
    assert said[3]["values"] == ((3,), (1,))
    assert said[4]["values"] == ()


def test_cells_are_cleared_sorted_and_move_up() -> None:
    said = after(
        ("clear_cells", {"range": "B2"}),
        ("sort_range", {"range": "B2:C4", "column": "C"}),
        ("read_cells", {"range": "B2:C4"}),
        ("delete_rows", {"start": 2, "count": 2}),
        ("read_cells", {}),
    )

    assert said[4]["values"] == (("warp", 1), ("weft", 2), (None, 3))
    assert said[6]["values"] == ((), (None, None, 3))


def test_cells_need_their_sheet_and_an_address() -> None:
    world = empty_world(*EVERY)

    _, said = play(world, ("clear_cells", {"sheet": "absent", "range": "A1"}))

    assert said == ["not_found"]
    assert after(("clear_cells", {"range": "over there"}))[2] == "invalid_arguments"


def test_tools_on_cells_hold_what_they_promise() -> None:
    spec = spec_of(*EVERY)
    blueprint, seed, _ = compile_spec(spec)

    admission = admit_service(spec, blueprint, seed)

    assert set(admission.blueprint.tools) == set(spec.tools)


@pytest.mark.parametrize(
    ("function", "given", "expected"),
    [
        ("cells_read", {"address": "A:A"}, [[1], [4]]),
        ("cells_read", {"address": "Sheet1!$B$1:$B$2"}, [[2], [5]]),
        ("cells_used", {}, "A1:C2"),
        ("cells_copy", {"address": "A1:B1", "at": "B2"}, [[1, 2, 3], [4, 1, 2]]),
        ("cells_without_lines", {"axis": "columns", "start": 2}, [[1, 3], [4, 6]]),
        ("cells_with_lines", {"axis": "rows", "start": 2}, [[1, 2, 3], [], [4, 5, 6]]),
        ("cells_sort", {"address": "A1:C2", "keys": 1, "order": "desc"}, [[4, 5, 6], [1, 2, 3]]),
    ],
)
def test_functions_on_cells(function: str, given: dict[str, Any], expected: Any) -> None:
    assert call(function, {"grid": [[1, 2, 3], [4, 5, 6]], **given}) == expected


def test_texts_in_cells_are_replaced_whole_or_in_part() -> None:
    grid = [["North", "Northwest", 7]]

    every = call("cells_replace", {"grid": grid, "query": "north", "replacement": "South"})
    whole = call(
        "cells_replace", {"grid": grid, "query": "North", "replacement": "S", "exact": True}
    )

    assert every == [["South", "Southwest", 7]]
    assert whole == [["S", "Northwest", 7]]


@pytest.mark.parametrize("address", ["", "A0", "1A", "A1:", "A9999999", "ZZZ1"])
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(PureError):
        call("cells_clear", {"grid": [[1]], "address": address})
