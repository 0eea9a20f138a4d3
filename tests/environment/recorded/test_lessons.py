"""What recordings teach: shapes, sentences, fields, examples; and what they may not change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from components.environment.engine import execute
from components.environment.recorded.shapes import joined_schema
from components.environment.recorded.teaching import read_taught
from components.environment.sources.config import JsonlSource
from components.environment.sources.listed import ListedServer
from components.environment.sources.redaction import MASK
from components.environment.synthesis import MadeService, make_service
from components.environment.world import build_service_world
from components.records.frozen import freeze, thaw
from components.records.spec import Observed, ServiceSpec
from tests.environment.recorded.notes import PROSE, TEXT, TOOLS, Lines, recorded, tool

NOW = "2026-03-02T09:00:00Z"


async def listed(path: Path) -> ListedServer:
    (server,) = await read_taught([], [str(path)], 1, date="2026-01-31")
    return server


async def learned(folder: Path, *sequences: Lines, tools: Any = TOOLS) -> ServiceSpec:
    spec = (await listed(recorded(folder / "answers.jsonl", *sequences, tools=tools))).spec
    assert spec is not None
    return spec


def seen(spec: ServiceSpec, name: str) -> Observed:
    observed = spec.tools[name].observed
    assert observed is not None
    return observed


def answers(made: MadeService, *calls: tuple[str, dict[str, Any]]) -> list[Any]:
    """Make calls one after the other on a compiled service; return the data of each answer."""
    spec = made.spec
    world = build_service_world(spec, made.admission.blueprint, made.seed, NOW)
    state, found = world.initial, []
    for name, arguments in calls:
        outcome = execute(world, state, spec.service, name, freeze(arguments))
        state = outcome.state
        assert outcome.envelope["ok"], outcome.envelope
        found.append(thaw(outcome.envelope["data"]))
    return found


def test_a_schema_says_only_what_all_values_bear_out() -> None:
    schema = joined_schema(
        [
            {"n": 1, "state": "open", "tags": [], "gone": None, "mixed": 1},
            {"n": 2.5, "state": None, "tags": [{"a": True}], "gone": None, "mixed": "x", "more": 1},
        ]
    )

    assert schema["required"] == ["n", "state", "tags"]
    parts = schema["properties"]
    assert parts["n"]["type"] == "number"
    assert parts["state"] == {"type": ["string", "null"], "examples": ["open"]}
    assert parts["tags"]["items"]["properties"] == {"a": {"type": "boolean"}}
    assert parts["mixed"] == parts["gone"] == {}
    assert "enum" not in str(schema)


def test_nothing_that_may_be_secret_is_kept_as_an_example() -> None:
    schema = joined_schema(
        [{"api_key": "k-1", "apiToken": "t-1", "primary_key": "id", "url": f"http://{MASK}"}]
    )

    parts = schema["properties"]
    assert [name for name, part in parts.items() if "examples" in part] == ["primary_key"]


async def test_a_compiled_tool_says_what_the_real_one_says(tmp_path: Path) -> None:
    made = make_service(await learned(tmp_path, PROSE))

    told = answers(
        made,
        ("create_note", {"name": "dyes", "text": "order madder"}),
        ("get_note", {"name": "dyes"}),
        ("list_notes", {}),
        ("delete_note", {"name": "dyes"}),
    )

    assert told[0] == {"result": "Saved the note 'dyes'."}
    assert told[1] == {"result": "order madder"}
    assert list(told[2]) == ["result"]
    assert "dyes" in told[2]["result"]
    assert "order madder" not in told[2]["result"], "the real list shows names alone"
    assert told[3] == {"result": "Deleted 'dyes'."}


@pytest.mark.parametrize(
    ("texts", "says"),
    [
        (["Saved note 7."], False),
        (["Saved note 7.", "Saved note 8."], False),
        (["Saved the note."], True),
    ],
)
async def test_a_sentence_with_parts_of_its_own_is_not_repeated(
    tmp_path: Path, texts: list[str], says: bool
) -> None:
    calls: Lines = [
        ("create_note", {"name": f"note {n}", "text": "x"}, text) for n, text in enumerate(texts)
    ]

    spec = await learned(tmp_path, calls)

    assert (seen(spec, "create_note").says is not None) is says


async def test_a_listed_output_schema_is_never_replaced(tmp_path: Path) -> None:
    output = {"type": "object", "properties": {"content": TEXT}, "required": ["content"]}
    tools = [{**item, "outputSchema": output} for item in TOOLS]
    calls: Lines = [("get_note", {"name": "milk"}, {"content": "buy two", "more": 1})]

    spec = await learned(tmp_path, calls, tools=tools)

    assert thaw(spec.tools["get_note"].output_schema) == output
    assert spec.tools["get_note"].lists_output
    assert not seen(spec, "get_note").has_schema


async def test_where_all_that_was_seen_is_prose_the_other_tools_answer_in_prose(
    tmp_path: Path,
) -> None:
    many = await learned(tmp_path, PROSE)
    few = await learned(tmp_path, PROSE[:3])

    assert seen(many, "update_note") == Observed(num_calls=0, has_schema=True)
    assert few.tools["update_note"].observed is None


async def test_records_keep_their_form_and_rows_hold_observed_values(tmp_path: Path) -> None:
    note = {"name": "milk", "text": "buy two", "colour": "teal", "weight_g": 310}
    calls: Lines = [
        ("create_note", {"name": "milk", "text": "buy two"}, note),
        ("get_note", {"name": "milk"}, note),
        ("list_notes", {}, {"result": [note]}),
    ]

    made = make_service(await learned(tmp_path, calls))

    one, every = answers(made, ("create_note", {"name": "wool", "text": "dry"}), ("list_notes", {}))
    assert one == {"name": "wool", "text": "dry", "colour": "teal", "weight_g": 310}
    assert {"name", "text", "colour", "weight_g"} == set(every["result"][0])
    rows = made.seed.tables["note"].values()
    assert "teal" in {row["colour"] for row in rows}
    assert "milk" in {row["name"] for row in rows}


async def test_what_breaks_a_tool_is_dropped_and_the_tool_stays(tmp_path: Path) -> None:
    calls: Lines = [
        ("get_note", {"name": "milk"}, {"name": 7, "text": "buy two"}),
        ("delete_note", {"name": "milk"}, "Deleted 'milk'."),
    ]
    spec = await learned(tmp_path, calls)

    made = make_service(spec)

    assert made.deterministic == {item["name"] for item in TOOLS}
    assert spec.tools["get_note"].observed is not None
    assert made.spec.tools["get_note"].observed is None
    assert made.spec.tools["delete_note"].observed is not None


@pytest.mark.parametrize(
    ("answer", "shown", "expected"),
    [
        ("done", "water", "keep"),
        ("done", "milk", "replace"),
        ("Error: rye already exists", "water", "refuse"),
    ],
)
async def test_what_a_second_write_did_is_learned(
    tmp_path: Path, answer: str, shown: str, expected: str
) -> None:
    save = tool("create_loaf", "Create a loaf.", ["name", "text"], name=TEXT, text=TEXT)
    read = tool("get_loaf", "Get a loaf.", ["name"], name=TEXT)
    lines: Lines = [
        ("create_loaf", {"name": "rye", "text": "water"}, "done"),
        ("create_loaf", {"name": "rye", "text": "milk"}, answer),
        ("get_loaf", {"name": "rye"}, {"name": "rye", "text": shown}),
    ]

    spec = await learned(tmp_path, lines, tools=[save, read])

    assert dict(seen(spec, "create_loaf").again) == {"name": expected}


async def test_a_taught_create_treats_what_is_there_as_the_real_one_does(tmp_path: Path) -> None:
    save = tool("create_loaf", "Create a loaf.", ["name", "text"], name=TEXT, text=TEXT)
    read = tool("get_loaf", "Get a loaf.", ["name"], name=TEXT)
    lines: Lines = [
        ("create_loaf", {"name": "rye", "text": "water"}, {"name": "rye", "text": "water"}),
        ("create_loaf", {"name": "rye", "text": "milk"}, {"name": "rye", "text": "water"}),
        ("get_loaf", {"name": "rye"}, {"name": "rye", "text": "water"}),
    ]

    made = make_service(await learned(tmp_path, lines, tools=[save, read]))
    said = answers(
        made,
        ("create_loaf", {"name": "oat", "text": "first"}),
        ("create_loaf", {"name": "oat", "text": "second"}),
        ("get_loaf", {"name": "oat"}),
    )

    assert "first" in str(said[2])


async def test_the_card_says_how_much_was_observed(tmp_path: Path) -> None:
    server = await listed(recorded(tmp_path / "answers.jsonl", PROSE))

    assert server.card is not None
    assert list(server.card.remarks) == [
        "outputs observed in 5 calls; 5 output schemas are made of them"
    ]


async def test_a_source_of_the_same_name_is_taught_and_others_are_left_alone(
    tmp_path: Path,
) -> None:
    tools = [*TOOLS, tool("find_note", "Find notes.", [], query=TEXT)]
    file = recorded(tmp_path / "specs.jsonl", tools=tools)
    lessons = recorded(tmp_path / "answers.jsonl", PROSE)
    alone = recorded(tmp_path / "more.jsonl", PROSE, server="diary")

    found = await read_taught(
        [JsonlSource(path=str(file))], [str(lessons), str(alone)], 1, date="2026-01-31"
    )

    assert [server.name for server in found] == ["notes", "diary"]
    spec = found[0].spec
    assert spec is not None
    assert "find_note" in spec.tools
    assert seen(spec, "create_note").num_calls == 2
