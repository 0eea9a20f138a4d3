"""A real server beside the service compiled of it: faithful, faulty, recorded, dying."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from components.environment.fidelity.document import read_measurement
from components.environment.fidelity.records import ToolFidelity, Verdict
from components.environment.fidelity.run import measure
from components.errors import SpecError
from tests.environment.fidelity.shelf import LIFE, measured, shelf, tools_of, unfaithful, written

BOOK_TOOLS = ("create_book", "delete_book", "get_book", "list_books", "update_book")


@pytest.mark.parametrize("given", [{"sequences": {"shelf": LIFE}}, {}])
async def test_a_server_that_does_what_it_says_is_faithful(
    tmp_path: Path, given: dict[str, Any]
) -> None:
    path = written(tmp_path, mcpServers={"shelf": shelf()}, **given)

    report = await measured(path)

    tools = tools_of(report)
    assert len(tools) == 5
    assert {tool.verdict for tool in tools.values()} == {Verdict.FAITHFUL}
    assert all(tool.errors.of and tool.shape.of for tool in tools.values())
    assert tools["get_book"].writes.of > 0
    assert tools["update_book"].writes.of > 0
    assert list(report.services["shelf"].remarks) == []


@pytest.mark.parametrize(
    ("fault", "failed", "problem"),
    [
        ("errors", {"get_book": "errors"}, "only the real one does it"),
        (
            "shape",
            dict.fromkeys(BOOK_TOOLS, "shape"),
            ".books[].headline is missing",
        ),
        (
            "writes",
            {"update_book": "read after write"},
            "'The Loom', written by create_book, is shown by get_book of the real one",
        ),
    ],
)
async def test_each_kind_of_disagreement_is_found_with_an_example(
    tmp_path: Path, fault: str, failed: dict[str, str], problem: str
) -> None:
    path = written(tmp_path, mcpServers={"shelf": shelf(fault)}, sequences={"shelf": LIFE})

    report = await measured(path)

    assert unfaithful(report) == failed
    name = "list_books" if "list_books" in failed else next(iter(failed))
    tool = tools_of(report)[name]
    counts = {"errors": tool.errors, "shape": tool.shape, "read after write": tool.writes}
    count = counts[failed[name]]
    assert count.agreed < count.of
    assert count.example is not None
    assert count.example.problem.startswith(problem)


async def test_recorded_answers_give_the_same_report_without_a_server(tmp_path: Path) -> None:
    live = written(tmp_path, mcpServers={"shelf": shelf("writes")}, record="answers.jsonl")
    first = await measured(live)

    second = await measured(written(tmp_path, recordings="answers.jsonl"))

    assert second == first
    assert unfaithful(second)
    text = (tmp_path / "answers.jsonl").read_text()
    assert "$1.id" in text
    assert str(tmp_path) not in text


async def test_recordings_keep_no_secret_and_no_folder(tmp_path: Path) -> None:
    server = shelf()
    server["env"]["KEY"] = "Create"  # a value that the server's listing echoes
    keys = {"mcpServers": {"shelf": server}, "record": "answers.jsonl"}

    await measured(written(tmp_path, **keys))

    text = (tmp_path / "answers.jsonl").read_text()
    assert '"description":"*** a book."' in text


async def test_a_server_that_dies_costs_only_what_comes_after(tmp_path: Path) -> None:
    again = [LIFE[0], LIFE[1]]
    path = written(
        tmp_path, mcpServers={"shelf": shelf("dies")}, sequences={"shelf": [LIFE, again]}
    )

    report = await measured(path)

    tools = tools_of(report)
    assert tools["delete_book"].verdict is Verdict.UNVERIFIED
    assert tools["get_book"].verdict is Verdict.FAITHFUL
    assert tools["create_book"].errors.of == 2
    (remark,) = report.services["shelf"].remarks
    assert remark.startswith(
        "sequence 1, call 6 (delete_book): shelf: it ended with exit status 1 "
    )
    assert "the shelf fell down" in remark


async def test_a_server_that_cannot_be_listed_costs_the_others_nothing(tmp_path: Path) -> None:
    servers = {"shelf": shelf(), "absent": {"command": "no-such-server-7q"}}

    report = await measured(written(tmp_path, mcpServers=servers))

    assert list(report.services) == ["shelf"]
    assert "command was not found" in report.failed["absent"]
    with pytest.raises(SpecError, match="no server could be listed: absent: its command"):
        await measured(written(tmp_path, mcpServers={"absent": servers["absent"]}))


async def test_what_the_server_has_at_its_start_can_be_given_to_the_service(
    tmp_path: Path,
) -> None:
    server = shelf()
    begin = '{"book-7": {"id": "book-7", "title": "Warp", "author": null}}'
    script = f"echo '{begin}' > books.json; exec {server['command']} {server['args'][0]}"
    server |= {"command": "sh", "args": ["-c", script]}
    calls = [{"tool": "get_book", "arguments": {"book_id": "book-7"}}]
    keys: dict[str, Any] = {"mcpServers": {"shelf": server}, "sequences": {"shelf": calls}}

    empty = await measured(written(tmp_path, **keys))
    row = {"id": "book-7", "title": "Warp"}
    started = await measured(written(tmp_path, **keys, start={"shelf": {"book": [row]}}))

    assert unfaithful(empty) == {"get_book": "errors"}
    assert unfaithful(started) == {}
    assert tools_of(started)["get_book"].verdict is Verdict.FAITHFUL
    with pytest.raises(SpecError, match=r"start\.shelf\.shelves: .* it has book"):
        await measured(written(tmp_path, **keys, start={"shelf": {"shelves": [{}]}}))


async def test_comparison_ends_where_the_states_part(tmp_path: Path) -> None:
    calls = [
        LIFE[0],
        {"tool": "update_book", "arguments": {"book_id": "book-9", "title": "Weft"}},
        {"tool": "list_books"},
    ]
    path = written(tmp_path, mcpServers={"shelf": shelf("errors")}, sequences={"shelf": calls})

    report = await measured(path)

    assert unfaithful(report) == {"update_book": "errors"}
    assert tools_of(report)["list_books"].why == "it was never called"
    assert report.services["shelf"].remarks == (
        "sequence 1, call 2 (update_book): only the real one did it",
    )


async def test_a_picture_is_compared_in_its_errors_alone(tmp_path: Path) -> None:
    path = written(tmp_path, mcpServers={"shelf": shelf("picture")}, sequences={"shelf": LIFE[:5]})

    report = await measured(path)

    tool = tools_of(report)["get_book"]
    assert (tool.errors.of, tool.shape.of, tool.writes.of) == (2, 0, 0)
    assert tool.verdict is Verdict.FAITHFUL


@pytest.mark.network
async def test_the_public_memory_server_is_faithful_but_for_double_names(tmp_path: Path) -> None:
    if shutil.which("npx") is None:
        pytest.skip("needs Node: npx is not there")
    server = {
        "command": "npx",
        "args": ["--prefer-offline", "-y", "@modelcontextprotocol/server-memory"],
        "env": {"MEMORY_FILE_PATH": "{tmp}/memory.jsonl"},
    }
    twice = {"entities": [{"name": "Ada", "entityType": "person", "observations": ["weaves"]}]}
    call = {"tool": "create_entities", "arguments": twice}
    calls = [call, {"tool": "read_graph"}, call]
    path = written(
        tmp_path,
        mcpServers={"memory": server},
        sequences={"memory": calls},
        timeout_seconds=60,
    )

    try:
        report = await measured(path)
    except SpecError as error:
        pytest.skip(f"the memory server cannot be started here: {error}")

    assert unfaithful(report) == {"create_entities": "errors"}
    assert tools_of(report)["read_graph"].verdict is Verdict.FAITHFUL


async def test_progress_is_told_for_each_sequence(tmp_path: Path) -> None:
    path = written(
        tmp_path, mcpServers={"shelf": shelf()}, sequences={"shelf": [LIFE[:1], LIFE[:1]]}
    )
    told: list[tuple[int, int]] = []

    await measure(read_measurement(path), 0, 1, lambda n, of: told.append((n, of)))

    assert told == [(1, 2), (2, 2)]


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ("", "holds no recording"),
        ("{", "line 1: not valid JSON"),
        ('{"server": "shelf"}', "line 1: sequence: Field required"),
        (
            json.dumps(
                {
                    "server": "shelf",
                    "sequence": 1,
                    "tool": "x",
                    "arguments": {},
                    "answer": {"is_error": False, "text": ""},
                }
            ),
            "the listing of server 'shelf' must come first",
        ),
    ],
)
async def test_bad_recordings_are_one_line(tmp_path: Path, lines: str, says: str) -> None:
    (tmp_path / "answers.jsonl").write_text(lines)

    with pytest.raises(SpecError) as caught:
        await measured(written(tmp_path, recordings="answers.jsonl"))

    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def shown_shapes(tools: Mapping[str, ToolFidelity]) -> dict[str, tuple[int, int]]:
    return {name: (tool.shape.agreed, tool.shape.of) for name, tool in tools.items()}


async def test_a_taught_service_is_compared_in_sequences_that_it_did_not_learn_from(
    tmp_path: Path,
) -> None:
    sequences = {"shelf": [LIFE, LIFE]}
    path = written(
        tmp_path, mcpServers={"shelf": shelf("shape")}, sequences=sequences, learn="others"
    )

    report = await measured(path)

    alone = shown_shapes(report.services["shelf"].tools)
    taught = shown_shapes(report.taught["shelf"].tools)
    assert all(agreed < of for agreed, of in alone.values())
    assert all(agreed == of > 0 for agreed, of in taught.values())


async def test_the_only_sequence_teaches_nothing(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        mcpServers={"shelf": shelf("shape")},
        sequences={"shelf": LIFE},
        learn="others",
        record="answers.jsonl",
    )

    alone = await measured(path)
    other = await measured(written(tmp_path, recordings="answers.jsonl", learn="answers.jsonl"))

    assert alone.taught == alone.services
    assert other.services == alone.services
    assert other.taught != other.services
