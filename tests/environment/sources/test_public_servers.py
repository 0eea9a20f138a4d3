"""Public servers, started as their users start them: each is listed, and no tool of it is lost.

`servers.json` names them by the program that their package installs, to be found on PATH; those
that are not installed are skipped. docs/servers.md says what came of each.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from components.environment.sources.listed import make_specs
from components.environment.sources.live import list_entries
from components.environment.sources.server_list import ServerEntry, read_server_list
from components.environment.synthesis import make_service

FILE = Path(__file__).parent / "servers.json"
TABLE = Path(__file__).parents[3] / "docs" / "servers.md"
SERVERS = read_server_list(FILE)


def test_the_table_has_a_row_for_each_server_of_the_list() -> None:
    rows = [line.split("|")[1].strip() for line in TABLE.read_text().splitlines() if "|" in line]

    assert [name for name in rows if not name.startswith("---")][1:-1] == [
        entry.name for entry in SERVERS
    ]
    assert not any(entry.error for entry in SERVERS)


@pytest.mark.slow
@pytest.mark.parametrize("entry", SERVERS, ids=[entry.name for entry in SERVERS])
async def test_a_server_is_listed_and_each_of_its_tools_has_an_end(entry: ServerEntry) -> None:
    if shutil.which(entry.command) is None:
        pytest.skip(f"{entry.command} is not installed: docs/servers.md names its package")

    (server,) = make_specs(await list_entries([entry], 60), None)

    assert server.error == ""
    assert server.spec is not None
    blueprint = make_service(server.spec).admission.blueprint
    assert {*blueprint.tools, *blueprint.quarantined} == set(server.spec.tools)
