"""What goes with a row that is deleted: what was added to it, and what relates it to others."""

from __future__ import annotations

from typing import Any

from components.environment.compiler.links import parent_link
from components.environment.compiler.table import Table, Tables
from components.environment.names import snake
from components.records.blueprint import Effect


def relations_gone(table: Table, tables: Tables, keys: Any) -> dict[str, Effect]:
    """Return the effects by which rows that relate deleted rows to others go with them.

    Args:
        table: of what is deleted.
        tables: all tables.
        keys: expression of the list of the deleted rows' keys.
    """
    return {
        f"gone_{snake(other.noun)}": Effect(
            action="delete",
            table=other.noun,
            where={"@or": [{"@in": [f"$item.{name}", keys]} for name in links]},
        )
        for other in tables.values()
        if other.relates
        and (links := [n for n, noun in sorted(other.links.items()) if noun == table.noun])
    }


def children_gone(table: Table, tables: Tables, keys: Any) -> dict[str, Effect]:
    """Return the effects by which rows that were added to deleted rows go with them.

    Args:
        table: of what is deleted.
        tables: all tables.
        keys: expression of the list of the deleted rows' keys.
    """
    found: dict[str, Effect] = {}
    for child in tables.values():
        links = _links_up(child, table)
        if links and child is not table:
            where = {"@or": [{"@in": [f"$item.{link}", keys]} for link in links]}
            found[f"gone_{snake(child.noun)}"] = Effect(
                action="delete", table=child.noun, where=where
            )
    return found


def _links_up(child: Table, table: Table) -> list[str]:
    """Return the columns by which rows of a table belong to those of another: to their parent, or,
    where rows are added to several at once, to each of these.
    """
    if child.parent == table.noun:
        link = parent_link(child, table)
        return [] if link is None else [link]
    return [
        name
        for name, noun in sorted(child.links.items())
        if child.parent and noun == table.noun and not child.columns[name].body.nullable
    ]
