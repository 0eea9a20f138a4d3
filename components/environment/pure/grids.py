"""Cells of a sheet: values by address, as spreadsheets have them.

Owns what an address means and what becomes of the cells: a grid is a list of rows from A1 on, each
a list of values; what lies beyond it is empty. Formulas are texts here: nothing is calculated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MAX_LINES = 2000
"""Rows, and columns, that a grid has at most."""
_ADDRESS = re.compile(r"\$?([A-Za-z]{0,3})\$?([0-9]{0,7})(?::\$?([A-Za-z]{0,3})\$?([0-9]{0,7}))?")

Grid = list[list[Any]]


@dataclass(frozen=True, slots=True)
class Box:
    """Rows and columns of an address, from 0, the last ones included."""

    top: int
    left: int
    bottom: int
    right: int


def box_of(address: str, grid: Sequence[Sequence[Any]] = ()) -> Box:
    """Return the cells that an address means; whole rows or columns end where the grid does.

    Raises:
        ValueError: it is no address.

    Example:
        >>> box_of("B2:C4")
        Box(top=1, left=1, bottom=3, right=2)
    """
    found = _ADDRESS.fullmatch(address.rpartition("!")[2].strip())
    if found is None or not any(found.groups()):
        raise ValueError(f"{address[:40]!r} is no address of cells; one is A1 or A1:C5")
    first, top, last, bottom = found.groups()
    if last == "" and not bottom:
        raise ValueError(f"{address[:40]!r} has no end")
    if last is None:
        last, bottom = first, bottom or top
    height, width = len(grid), max(map(len, grid), default=0)
    tops = [int(top or 1) - 1, int(bottom or top or max(height, 1)) - 1]
    if not top and not bottom:
        tops = [0, max(height, 1) - 1]
    lefts = [_column(first) if first else 0, _column(last) if last else max(width, 1) - 1]
    box = Box(min(tops), min(lefts), max(tops), max(lefts))
    if box.top < 0 or box.bottom >= MAX_LINES or box.right >= MAX_LINES:
        raise ValueError(f"{address[:40]!r} lies outside of the sheet")
    return box


def address_of(box: Box) -> str:
    """Return the address of a box.

    Example:
        >>> address_of(Box(0, 0, 1, 26))
        'A1:AA2'
    """
    first, last = f"{_letters(box.left)}{box.top + 1}", f"{_letters(box.right)}{box.bottom + 1}"
    return first if first == last else f"{first}:{last}"


def _column(letters: str) -> int:
    number = 0
    for letter in letters.upper():
        number = number * 26 + ord(letter) - ord("A") + 1
    return number - 1


def _letters(column: int) -> str:
    text, column = "", column + 1
    while column:
        column, rest = divmod(column - 1, 26)
        text = chr(ord("A") + rest) + text
    return text


def _grid(arguments: Mapping[str, Any]) -> Grid:
    return [list(row) for row in arguments.get("grid") or ()]


def _at(grid: Grid, row: int, column: int) -> Any:
    return grid[row][column] if row < len(grid) and column < len(grid[row]) else None


def _put(grid: Grid, row: int, column: int, value: Any) -> None:
    while len(grid) <= row:
        grid.append([])
    grid[row] += [None] * (column + 1 - len(grid[row]))
    grid[row][column] = value


def _trimmed(grid: Grid) -> Grid:
    """Return a grid without empty cells and rows at its ends."""
    rows = []
    for row in grid:
        kept = list(row)
        while kept and kept[-1] is None:
            kept.pop()
        rows.append(kept)
    while rows and not rows[-1]:
        rows.pop()
    return rows


def _area(grid: Grid, box: Box) -> Grid:
    return [
        [_at(grid, row, column) for column in range(box.left, box.right + 1)]
        for row in range(box.top, box.bottom + 1)
    ]


def _read(arguments: Mapping[str, Any]) -> Grid:
    grid, address = _grid(arguments), arguments.get("address")
    return _trimmed(grid if not address else _area(grid, box_of(address, grid)))


def _used(arguments: Mapping[str, Any]) -> str:
    """Return an address that is given, or that of all cells that hold something."""
    grid = _trimmed(_grid(arguments))
    address = arguments.get("address")
    if address:
        box_of(address, grid)
        return str(address)
    width = max(map(len, grid), default=1)
    return address_of(Box(0, 0, max(len(grid), 1) - 1, max(width, 1) - 1))


def _rows(values: Any) -> Grid:
    """Return what is written as rows: one value, one row, or several."""
    if not isinstance(values, (list, tuple)):
        return [[values]]
    if any(isinstance(row, (list, tuple)) for row in values):
        return [list(row) if isinstance(row, (list, tuple)) else [row] for row in values]
    return [list(values)]


def _write(arguments: Mapping[str, Any]) -> Grid:
    grid = _grid(arguments)
    box = box_of(arguments["address"], grid)
    for down, row in enumerate(_rows(arguments["values"])):
        for along, value in enumerate(row):
            _put(grid, box.top + down, box.left + along, value)
    return _trimmed(grid)


def _written(arguments: Mapping[str, Any]) -> str:
    """Return the address of the cells that values fill from an address on."""
    box, rows = box_of(arguments["address"]), _rows(arguments["values"])
    bottom = box.top + max(len(rows), 1) - 1
    right = box.left + max(max(map(len, rows), default=1), 1) - 1
    return address_of(Box(box.top, box.left, bottom, right))


def _clear(arguments: Mapping[str, Any]) -> Grid:
    grid = _grid(arguments)
    box = box_of(arguments["address"], grid)
    for row in grid[box.top : box.bottom + 1]:
        for column in range(box.left, min(box.right + 1, len(row))):
            row[column] = None
    return _trimmed(grid)


def _copy(arguments: Mapping[str, Any]) -> Grid:
    grid = _grid(arguments)
    area = _area(grid, box_of(arguments["address"], grid))
    return _write({"grid": grid, "address": arguments["at"], "values": area})


def _replace(arguments: Mapping[str, Any]) -> Grid:
    grid = _grid(arguments)
    for row in grid:
        for column, value in enumerate(row):
            if isinstance(value, str) and _is_found(value, arguments):
                pattern = re.escape(arguments["query"])
                flags = re.NOFLAG if arguments.get("case_sensitive") else re.IGNORECASE
                new = str(arguments["replacement"])
                row[column] = re.sub(pattern, lambda _: new, value, flags=flags)  # noqa: B023
    return grid


def _count(arguments: Mapping[str, Any]) -> int:
    """Return how many cells hold a text."""
    found = [value for row in _grid(arguments) for value in row if isinstance(value, str)]
    return sum(_is_found(value, arguments) for value in found)


def _is_found(value: str, arguments: Mapping[str, Any]) -> bool:
    query = str(arguments["query"])
    if not arguments.get("case_sensitive"):
        value, query = value.lower(), query.lower()
    return value == query if arguments.get("exact") else query in value


def _sort(arguments: Mapping[str, Any]) -> Grid:
    """Sort rows of an area by columns: by letter, number or, with a header, by its text."""
    grid = _grid(arguments)
    box = box_of(arguments["address"], grid)
    area, head = _area(grid, box), []
    if arguments.get("has_header"):
        head, area = area[:1], area[1:]
    keys = arguments.get("keys")
    for key in reversed(keys if isinstance(keys, (list, tuple)) else [keys]):
        wanted = key.get("column") if isinstance(key, Mapping) else key
        order = key.get("order") if isinstance(key, Mapping) else arguments.get("order")
        place = _place(wanted, head[0] if head else [], box)
        is_down = order in (True, -1) or str(order or "").lower().startswith("desc")
        known = [row for row in area if row[place] is not None]
        known.sort(key=lambda row: _rank(row[place]), reverse=is_down)
        area = known + [row for row in area if row[place] is None]
    at = address_of(Box(box.top, box.left, box.top, box.left))
    return _write({"grid": grid, "address": at, "values": [*head, *area]})


def _place(wanted: Any, head: Sequence[Any], box: Box) -> int:
    if wanted in head:
        return head.index(wanted)
    text = str(wanted)
    is_letters = text.isascii() and text.isalpha() and len(text) <= 3
    place = _column(text) - box.left if is_letters else int(text) - 1
    if not 0 <= place <= box.right - box.left:
        raise ValueError(f"there is no column {text[:40]!r} in these cells")
    return place


def _rank(value: Any) -> tuple[int, Any]:
    if isinstance(value, bool):
        return 2, value
    return (0, value) if isinstance(value, (int, float)) else (1, str(value).lower())


def _lines(arguments: Mapping[str, Any]) -> tuple[bool, int, int]:
    """Return whether columns are meant, the first line from 0, and how many."""
    start, count = arguments["start"], arguments.get("count", 1)
    is_columns = str(arguments.get("axis", "row")).lower().startswith("col")
    first = _column(start) if isinstance(start, str) and start.isalpha() else int(start) - 1
    if first < 0 or not 1 <= count <= MAX_LINES or first + count > MAX_LINES:
        raise ValueError("no such rows or columns")
    return is_columns, first, int(count)


def _take_lines(arguments: Mapping[str, Any]) -> Grid:
    grid = _grid(arguments)
    is_columns, first, count = _lines(arguments)
    if not is_columns:
        return _trimmed(grid[:first] + grid[first + count :])
    return _trimmed([row[:first] + row[first + count :] for row in grid])


def _open_lines(arguments: Mapping[str, Any]) -> Grid:
    grid = _grid(arguments)
    is_columns, first, count = _lines(arguments)
    if not is_columns:
        return _trimmed(grid[:first] + [[] for _ in range(count)] + grid[first:])
    return _trimmed([[*row[:first], *[None] * count, *row[first:]] for row in grid])


def _line_address(arguments: Mapping[str, Any]) -> str:
    is_columns, first, count = _lines(arguments)
    named = (first, first + count - 1)
    return ":".join(_letters(line) if is_columns else str(line + 1) for line in named)


GRIDS: Mapping[str, Callable[[Mapping[str, Any]], Any]] = {
    "cells_read": _read,
    "cells_used": _used,
    "cells_write": _write,
    "cells_written": _written,
    "cells_clear": _clear,
    "cells_copy": _copy,
    "cells_replace": _replace,
    "cells_count": _count,
    "cells_sort": _sort,
    "cells_without_lines": _take_lines,
    "cells_with_lines": _open_lines,
    "cells_lines": _line_address,
}
"""Functions of the library: `grid` and, by name, what each needs."""
