"""Files and folders: what lies in a folder is found by its path.

Owns which tables of a service share one tree of paths, what a folder shows of it, and that a new
file's folder must be there where tools can make folders.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from components.environment.compiler.inputs import Input, Tool, words_of
from components.environment.compiler.table import KeyKind, Table, Tables
from components.environment.names import plural, snake, tokens
from components.environment.paths import folder_of, last_part
from components.environment.reading.records import Role
from components.records.blueprint import Check, FieldType, FunctionalClass, Operation
from components.records.calls import ErrorCode
from components.records.frozen import FrozenDict, JsonObject

_NAMED = frozenset({KeyKind.GIVEN, KeyKind.NATURAL})
_SHOWS = frozenset({Operation.LIST, Operation.SEARCH})
_MAKES = frozenset({Operation.CREATE, Operation.APPEND})


def settle_trees(tools: Iterable[Tool], tables: dict[str, Table]) -> None:
    """Tell the tables whose rows are named by paths that they lie in one tree, where some tool
    shows what is in a folder.
    """
    paths = {
        noun: table.names[0] for noun, table in sorted(tables.items()) if _is_named_by_path(table)
    }
    folders = [noun for noun in paths if is_folder(noun)]
    leaves = [noun for noun in paths if noun not in folders and tables[noun].is_made]
    if len(folders) > 1 or not leaves:
        return
    tree = FrozenDict({noun: paths[noun] for noun in (*folders, *leaves)})
    if any(_shows_folder(tool, tables, tree) for tool in tools):
        for noun in tree:
            tables[noun].tree = tree


def is_folder(noun: str) -> bool:
    """True for a noun that means a folder."""
    return noun.rpartition("_")[2] in words_of("folders")


def _is_named_by_path(table: Table) -> bool:
    if table.kind not in _NAMED or len(table.names) != 1:
        return False
    name = table.names[0]
    word, is_text = snake(name), table.columns[name].body.type is FieldType.STRING
    is_own = is_folder(table.noun) and word in words_of("folders")
    return is_text and (word.rpartition("_")[2] == "path" or is_own)


def _shows_folder(tool: Tool, tables: Tables, tree: Mapping[str, str]) -> bool:
    table = tables.get(tool.reading.entity or "")
    if table is None or table.noun not in tree:
        return False
    return any(_names_folder(item, tool, table, tree) for item in tool.data)


def place_of(tool: Tool, table: Table) -> Input | None:
    """Return the input of a read that says in which folder it looks, or None."""
    if table.noun not in table.tree:
        return None
    found = (item for item in tool.data if _names_folder(item, tool, table, table.tree))
    return next(found, None)


def _names_folder(item: Input, tool: Tool, table: Table, tree: Mapping[str, str]) -> bool:
    operation = tool.reading.operation
    is_tree = operation is Operation.GET and "tree" in tokens(tool.name)
    if item.is_list or item.kind != "string" or not (operation in _SHOWS or is_tree):
        return False
    plain = item.word.removesuffix("_path").removesuffix("_name")
    is_said = plain.rpartition("_")[2] in words_of("folders")
    is_own = table.find(item.word) == tree[table.noun] and item.role is not Role.QUERY
    is_path = is_own and item.word.rpartition("_")[2] == "path"
    return is_said or (is_path and any(is_folder(noun) for noun in tree))


def lies_in(tool: Tool, item: Input, column: str) -> Any:
    """Return the condition over `$item` that a row lies in the folder that an input names: at any
    depth where the tool says so, otherwise in the folder itself.
    """
    level = {"@levels_below": [f"$item.{column}", item.ref]}
    inside, below = {"@eq": [level, 1]}, {"@ge": [level, 1]}
    flag = next((i for i in tool.inputs if i.kind == "boolean" and _is_deep(i.word)), None)
    if flag is not None:
        return {"@if": [flag.ref, below, inside]}
    is_deep = tool.reading.operation is Operation.SEARCH or tool.says("recursive")
    return below if is_deep else inside


def is_called_like(tool: Tool, item: Input, table: Table) -> Any:
    """Return the condition over `$item` that a row's path is like the pattern which an input gives;
    None where it gives none.
    """
    last = item.word.rpartition("_")[2]
    if place_of(tool, table) is None or last not in words_of("patterns") or item.is_list:
        return None
    return {"@is_like": [f"$item.{table.tree[table.noun]}", item.ref]}


def _is_deep(word: str) -> bool:
    return not words_of("recursive").isdisjoint(word.split("_"))


def is_there(folder: Any, tree: Mapping[str, str]) -> Any:
    """Return the condition that there is a folder: a row of its own, or something that lies in it.
    Where paths begin is always there.
    """
    parts: list[Any] = [{"@eq": [{"@levels_below": [root, folder]}, 0]} for root in (".", "/")]
    for noun, column in tree.items():
        level = {"@levels_below": [f"$item.{column}", folder]}
        lowest = 0 if is_folder(noun) else 1
        where = {"@ge": [level, lowest]}
        parts.append({"@gt": [{"@count": {"table": noun, "where": where}}, 0]})
    return {"@or": parts}


def place_check(tool: Tool, table: Table) -> dict[str, Check]:
    """Return the check that the folder which a tool looks in, or puts something in, is there."""
    tree = table.tree
    if tool.reading.functional is FunctionalClass.READ:
        item = place_of(tool, table)
        holds = None if item is None else is_there(item.ref, tree)
    else:
        item = _new_path(tool, table)
        holds = None if item is None else is_there({"@folder_of": item.ref}, tree)
    if item is None:
        return {}
    if not item.is_always_given:
        holds = {"@or": [{"@is_null": item.ref}, holds]}
    noun = next((noun for noun in tree if is_folder(noun)), "folder")
    message = f"there is no such {noun}"
    return {"place": Check(holds=holds, code=ErrorCode.NOT_FOUND, message=message)}


def _new_path(tool: Tool, table: Table) -> Input | None:
    """Return the input by which a create says where a new row lies, where its folder must be there:
    tools can make folders, and no word says that this one makes what is missing.
    """
    folders = [noun for noun in table.tree if is_folder(noun)]
    is_new = tool.reading.operation in _MAKES
    if not folders or table.noun in folders or not is_new or tool.says("makes_folders"):
        return None
    own = table.tree[table.noun]
    found = (item for item in tool.data if table.find(item.word) == own and not item.is_list)
    return next((item for item in found if item.kind == "string"), None)


def others_inside(tool: Tool, table: Table, tables: Tables) -> dict[str, Any]:
    """Return, by what they are called, the rows of the tree's other tables that a tool shows too,
    where it looks in a folder.
    """
    item = place_of(tool, table)
    if item is None or not is_folder(table.noun):
        return {}
    return {
        plural(noun): entries(
            tables[noun],
            {"@rows": {"table": noun, "where": lies_in(tool, item, column)}},
        )
        for noun, column in table.tree.items()
        if noun != table.noun
    }


def entries(table: Table, rows: Any) -> Any:
    """Return the expression of rows as a folder shows them: without what they hold."""
    long = words_of("long_texts")
    shown = [name for name in table.shown if snake(name) not in long]
    return {"@each": [rows, {"@pick": ["$element", shown]}]}


def called_by_path(table: Table) -> dict[str, str]:
    """Return the columns of a table that say the same as a row's path, with the operation that
    makes them of it.
    """
    if table.noun not in table.tree:
        return {}
    return {
        name: "@last_part" if snake(name) == "name" else "@folder_of"
        for name, column in sorted(table.columns.items())
        if (snake(name) == "name" or snake(name) in words_of("folders"))
        and name not in table.names
        and name not in table.links
        and column.body.type is FieldType.STRING
    }


def laid_out(tables: Tables, found: dict[str, dict[str, JsonObject]]) -> None:
    """Put the files of a seed into its folders."""
    for noun, table in sorted(tables.items()):
        if noun not in table.tree or noun not in found:
            continue
        column, said = table.tree[noun], called_by_path(table)
        folder_noun = next((other for other in table.tree if is_folder(other)), None)
        folders = []
        if folder_noun is not None and folder_noun != noun:
            folders = [row[table.tree[folder_noun]] for row in found[folder_noun].values()]
        rows: dict[str, JsonObject] = {}
        for index, (row_id, row) in enumerate(found[noun].items()):
            path = row[column]
            if folders:
                path = f"{folders[index % len(folders)].rstrip('/')}/{last_part(path)}"
            own = {name: last_part(path) for name, how in said.items() if how == "@last_part"}
            own |= {name: folder_of(path) for name, how in said.items() if how == "@folder_of"}
            key = path if table.key == column else row_id
            rows.setdefault(key, FrozenDict({**row, **own, column: path}))
        found[noun] = rows
