"""A SQLite database as a scene: statements really run, and nothing else does."""

from __future__ import annotations

from typing import Any

import pytest

from components.environment.compiler.compile import compile_spec
from components.environment.gates.run import admit_service
from components.environment.pure.functions import call
from components.environment.pure.values import PureError
from tests.environment.test_compiler import TEXT, spec_of, tool
from tests.environment.test_compiler_upserts import empty_world, play

SQL = {"type": "string", "description": "SQL statement"}
MAKE = tool("create_table", "statement", description="Run CREATE TABLE in the SQLite file.",
            statement=SQL)  # fmt: skip
SELECT = tool("select", "sql", description="Run a SELECT query.", sql=SQL)
WRITE = tool("write_query", "sql", description="Run an INSERT, UPDATE or DELETE.", sql=SQL)
TABLES = tool("show_tables", description="List the tables.")
COLUMNS = tool("describe_table", "table_name", description="Show the columns of a table.",
               table_name=TEXT)  # fmt: skip
EVERY = (MAKE, SELECT, WRITE, TABLES, COLUMNS)
LOOMS = ("create_table", {"statement": "CREATE TABLE looms (id INTEGER PRIMARY KEY, maker TEXT)"})


def said(*calls: tuple[str, dict[str, Any]]) -> list[Any]:
    _, found = play(empty_world(*EVERY), *calls)
    return [item if isinstance(item, str) else item["result"] for item in found]


def test_what_is_written_is_selected() -> None:
    found = said(
        LOOMS,
        ("write_query", {"sql": "INSERT INTO looms (maker) VALUES ('Ada'), ('Mary')"}),
        ("select", {"sql": "SELECT maker FROM looms WHERE id = 2"}),
        ("show_tables", {}),
        ("describe_table", {"table_name": "looms"}),
    )

    assert found[1] == ({"affected_rows": 2},)
    assert found[2] == ({"maker": "Mary"},)
    assert found[3] == ({"name": "looms"},)
    assert [(row["name"], row["type"]) for row in found[4]["columns"]] == [
        ("id", "INTEGER"),
        ("maker", "TEXT"),
    ]


def test_a_statement_of_another_kind_a_second_table_and_an_unknown_one_are_refused() -> None:
    found = said(
        LOOMS,
        LOOMS,
        ("create_table", {"statement": "DROP TABLE looms"}),
        ("select", {"sql": "SELECT * FROM absent"}),
        ("select", {"sql": "DELETE FROM looms"}),
        ("write_query", {"sql": "INSERT INTO looms VALUES (1, 2, 3)"}),
    )

    wrong = "invalid_arguments"
    assert found[1:] == ["conflict", wrong, "not_found", wrong, wrong]


def test_its_tools_hold_what_they_promise() -> None:
    spec = spec_of(*EVERY)
    blueprint, seed, _ = compile_spec(spec)

    admission = admit_service(spec, blueprint, seed)

    assert set(admission.blueprint.tools) == set(spec.tools)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT random()",
        "SELECT datetime('now')",
        "SELECT CURRENT_TIMESTAMP",
        "SELECT load_extension('x')",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
        "SELECT zeroblob(2000000)",
        "SELECT 1; DROP TABLE looms",
        "ATTACH 'other.db' AS other",
        "PRAGMA database_list",
    ],
)
def test_what_needs_a_clock_chance_a_file_or_forever_is_refused(query: str) -> None:
    with pytest.raises(PureError):
        call("sql_run", {"statements": [], "query": query, "kind": "read"})
