"""The file of a measurement, what answers hold, their shapes, and the sequences that are made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from components.environment.fidelity.document import read_measurement
from components.environment.fidelity.sequences import generated_sequences
from components.environment.fidelity.shapes import shape_difference
from components.environment.recorded.answers import body_of, error_kinds, is_error
from components.environment.recorded.records import Answer
from components.environment.recorded.references import Unresolved, resolved
from components.environment.sources.listing import spec_from_listing
from components.environment.synthesis import make_service
from components.errors import SpecError
from components.records.calls import ErrorCode
from components.records.frozen import freeze, thaw
from tests.servers.shelf_server import TOOLS

HEAD = "mcpServers: {shelf: {command: shelf}}\n"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: [", "not valid YAML"),
        ("- 1", "must be an object"),
        ("{}", "needs either mcpServers"),
        (HEAD + "recordings: a.jsonl", "needs either mcpServers"),
        (HEAD + "sequence: {}", "no key 'sequence' here"),
        ("mcpServers: {shelf: {}}", "mcpServers.shelf: needs exactly one of"),
        ("mcpServers: {shelf: {url: 'http://x'}}", "mcpServers.shelf: is reached by address"),
        (HEAD + "sequences: {shelve: [[{tool: a}]]}", "sequences.shelve: mcpServers has no such"),
        (HEAD + "sequences: {shelf: []}", "sequences.shelf: must be a list of calls"),
        (HEAD + "sequences: {shelf: [[{name: a}]]}", "sequences.shelf[0][0].tool: Field required"),
        (HEAD + "sequences: {shelf: [{tool: a, arguments: 3}]}", "shelf[0][0].arguments: "),
        (
            HEAD + "sequences: {shelf: [{tool: a, arguments: {id: $1.id}}]}",
            "sequences.shelf[0][0]: $1.id must name an earlier call",
        ),
        (HEAD + "start: {shelf: {book: 3}}", "start.shelf: must be an object of tables"),
        (HEAD + "timeout_seconds: 0", "timeout_seconds: must be"),
        (HEAD + "record: 3", "record: must be the name of a file"),
    ],
)
def test_a_wrong_file_is_one_line_that_names_it_and_the_key(
    tmp_path: Path, text: str, says: str
) -> None:
    path = tmp_path / "fidelity.yaml"
    path.write_text(text)

    with pytest.raises(SpecError) as caught:
        read_measurement(path)

    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert says in message
    assert "\n" not in message


def test_one_list_of_calls_is_one_sequence(tmp_path: Path) -> None:
    path = tmp_path / "fidelity.yaml"
    path.write_text(HEAD + "sequences: {shelf: [{tool: a}, {tool: b, arguments: {id: $1.id}}]}")

    found = read_measurement(path).sequences["shelf"]

    assert [[call.tool for call in calls] for calls in found] == [["a", "b"]]


def test_references_are_found_by_path_then_by_their_last_name() -> None:
    bodies = [{"book": {"id": "b1"}, "tags": [{"name": "x"}]}, {"noteId": 7}]

    found = resolved(
        {"a": "$1.book.id", "b": ["$1.id", "$1.tags.0.name"], "c": "$2.id", "d": "$$1", "e": "$1"},
        bodies,
    )

    assert thaw(found) == {"a": "b1", "b": ["b1", "x"], "c": 7, "d": "$1", "e": bodies[0]}
    with pytest.raises(Unresolved, match=r"\$2\.isbn"):
        resolved({"x": "$2.isbn"}, bodies)
    with pytest.raises(Unresolved):
        resolved(["$1.id"], [None])


def answer(text: str, *, failed: bool = False, structured: Any = None) -> Answer:
    return Answer(is_error=failed, structured=freeze(structured), text=text)


@pytest.mark.parametrize(
    ("text", "structured", "body"),
    [
        ('{"a": 1}', None, {"a": 1}),
        ("[{'name': 'looms', 'pk': None}]", None, [{"name": "looms", "pk": None}]),
        ('{"a": 1}\n{"a": 2}', None, [{"a": 1}, {"a": 2}]),
        ("[FILE] notes.txt", None, "[FILE] notes.txt"),
        ("{'a': nan}", None, "{'a': nan}"),
        ("7", None, "7"),
        ("words", {"result": "[1]"}, [1]),
        ("words", {"result": [1]}, [1]),
        ("words", {"result": 1, "more": 2}, {"result": 1, "more": 2}),
    ],
)
def test_an_answer_is_read_as_data_where_it_is_data(text: str, structured: Any, body: Any) -> None:
    assert thaw(body_of(answer(text, structured=structured))) == body


@pytest.mark.parametrize(
    ("text", "failed", "says_error", "kinds"),
    [
        ("Book b9 not found.", True, True, {ErrorCode.NOT_FOUND}),
        ("Error executing tool get: Sheet 'a' has no note.", True, True, set()),
        ("Database error: table looms already exists", False, True, {ErrorCode.CONFLICT}),
        ("MCP error -32602: Input validation error", True, True, {ErrorCode.INVALID_ARGUMENTS}),
        ("The error was found: a loose thread", False, True, set()),
        ("No loom is in error", False, False, set()),
        ('{"error": "no such book"}', False, True, {ErrorCode.NOT_FOUND}),
        ('{"success": false}', False, True, set()),
        ('{"error": null, "id": 3}', False, False, set()),
    ],
)
def test_errors_and_their_kinds_are_read_from_the_text(
    text: str, failed: bool, says_error: bool, kinds: set[ErrorCode]
) -> None:
    assert is_error(answer(text, failed=failed)) is says_error
    assert error_kinds(answer(text, failed=failed)) == kinds


@pytest.mark.parametrize(
    ("real", "compiled", "difference"),
    [
        ({"id": 1}, {"id": 2, "made_up": 3}, ""),
        ({"noteId": 1}, {"note_id": 2}, ""),
        ({"id": 1}, {"note": {"id": 1}}, ""),
        ([{"id": 1}], {"notes": [{"id": 1}], "total": 1}, ""),
        ({"notes": []}, {"notes": [{"id": 1}]}, ""),
        ({"id": None}, {"id": "x"}, ""),
        ([["May", 1]], {"rows": [["June"]]}, ""),
        ({"id": 1}, {"id": "1"}, ".id is a number; compiled: a text"),
        ({"id": 1}, {"note": {"key": 1}}, ".id is missing; compiled: key"),
        ({"a": [{"b": 1}]}, {"a": [{"c": 1}]}, ".a[].b is missing; compiled: c"),
        ([[1]], {"rows": [["June"]]}, "[][] is a number; compiled: a text"),
        ("Deleted.", {"deleted": True}, ""),
        ("Deleted.", {"success": True, "message": "gone"}, ""),
        ("Deleted.", {"deleted": True, "note": {"id": 1}}, "prose; compiled: deleted, note"),
    ],
)
def test_shapes_agree_where_what_is_really_there_is_there(
    real: Any, compiled: Any, difference: str
) -> None:
    assert shape_difference(freeze(real), freeze(compiled)) == difference


def test_generated_arguments_fit_the_schemas_and_every_tool_is_called() -> None:
    spec = spec_from_listing("shelf", TOOLS).spec
    made = make_service(spec)

    sequences = generated_sequences(spec, made.admission.blueprint, made.readings, 0, 2)

    calls = [call for calls in sequences for call in calls]
    assert {call.tool for call in calls} == set(spec.tools)
    for call in calls:
        schema = thaw(spec.tools[call.tool].input_schema)
        assert jsonschema_rs.validator_for(schema).is_valid(thaw(call.arguments)), call
    again = generated_sequences(spec, made.admission.blueprint, made.readings, 0, 2)
    other = generated_sequences(spec, made.admission.blueprint, made.readings, 1, 2)
    assert again == sequences != other
    ids = [call.arguments["book_id"] for call in calls if call.tool == "get_book"]
    assert {"$1.id", "no_such_row_7q"} <= set(ids)
