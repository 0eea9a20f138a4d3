"""What a recording holds: calls of a real server and its answers."""

from __future__ import annotations

from pydantic import Field

from components.records.base import Record
from components.records.frozen import FrozenDict, JsonObject, JsonValue


class Call(Record):
    """One call of a sequence. A text `$2.note.id` in its arguments is what call 2 answered there,
    on each side its own; `{tmp}` is the sequence's folder.
    """

    tool: str = Field(min_length=1)
    """Name in the compiled service, or the server's own."""
    arguments: JsonObject = FrozenDict()


class Answer(Record):
    """What a real server answers to one call."""

    is_error: bool
    structured: JsonValue = None
    """Its structured content; None where it gives none."""
    text: str
    """Its text parts, a line each."""
    num_other_parts: int = Field(default=0, ge=0)
    """Images, sounds and files, which are not kept."""


class RecordedCall(Record):
    """One line of a file of recordings: a call of a real server and its answer."""

    schema_version: int = Field(default=1, ge=1, le=1)
    server: str
    sequence: int = Field(ge=1)
    """Calls of one sequence began with a fresh server."""
    tool: str
    arguments: JsonObject
    """As the sequence has them, references and `{tmp}` included."""
    answer: Answer
    """The sequence's folder stands in it as `{tmp}`."""
