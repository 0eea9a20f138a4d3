"""What the readers of traces share: bounds, JSON that is checked, parts of messages.

The files are somebody else's. Each bound and each form that is not met is one line that names file
and line.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from attribution.foreign.records import ForeignAnswer, ForeignCall, ForeignTool, Outcome, Speaker
from attribution.foreign.words import words
from components.errors import ConfigError
from components.records.frozen import FrozenDict, freeze

MAX_FILE_BYTES = 1_000_000_000
MAX_LINE_CHARACTERS = 32_000_000
MAX_TRACES = 100_000
MAX_MESSAGES = 20_000
"""Messages of one trace."""
MAX_TOOLS = 5_000
"""Tools of one trace."""
_MAX_DEPTH = 200


class Place:
    """Where in a file something stands, for the line that says what is wrong with it."""

    def __init__(self, path: Path, where: str) -> None:
        """Args: path: the file; where: `line 3`, `simulations.4`."""
        self.path, self.where = path, where

    def __str__(self) -> str:
        return f"{self.path} {self.where}"

    def refuse(self, problem: str, mend: str) -> NoReturn:
        """Raise ConfigError with the line."""
        raise ConfigError(f"traces: {self.path} {self.where}: {problem}; {mend}")


def read_objects(path: Path) -> Iterator[tuple[Place, dict[str, Any]]]:
    """Yield the objects of a file of JSON lines, each with its place.

    Raises:
        ConfigError: the file cannot be read or is too large, or a line is no JSON object.
    """
    refuse_large(path)
    try:
        with path.open(encoding="utf-8-sig") as file:
            number = 0
            while line := file.readline(MAX_LINE_CHARACTERS + 1):
                number += 1
                place = Place(path, f"line {number}")
                if len(line) > MAX_LINE_CHARACTERS:
                    place.refuse(
                        f"has more than {MAX_LINE_CHARACTERS} characters", "split the trace"
                    )
                if line.strip():
                    body = parse(line, place)
                    if not isinstance(body, dict):
                        place.refuse(
                            f"is no JSON object but {_kind(body)}", "write one object a line"
                        )
                    yield place, body
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(path, error) from None


def refuse_large(path: Path) -> None:
    """Raise unless the file is there and not too large.

    Raises:
        ConfigError: it is not.
    """
    try:
        size = path.stat().st_size
    except OSError as error:
        raise unreadable(path, error) from None
    if not path.is_file():
        raise ConfigError(f"traces: {path} is no file; name a file of traces")
    if size > MAX_FILE_BYTES:
        raise ConfigError(f"traces: {path} has more than {MAX_FILE_BYTES} bytes; split it")


def unreadable(path: Path, error: Exception) -> ConfigError:
    """Return the error for a file that cannot be read."""
    why = error.strerror if isinstance(error, OSError) and error.strerror else "it is no UTF-8 text"
    return ConfigError(f"traces: {path} cannot be read ({why}); name a file of traces")


def parse(text: str, place: Place) -> Any:
    """Return a JSON value without NaN, and of bounded depth.

    Raises:
        ConfigError: it is none.
    """
    try:
        value = parse_strict(text)
    except json.JSONDecodeError as error:
        place.refuse(f"is no JSON ({error.msg} at character {error.pos})", "mend or drop it")
    except RecursionError:
        place.refuse("is nested too deep", "drop it")
    except ValueError as error:
        place.refuse(f"is no JSON ({error})", "mend or drop it")
    return value


def parse_strict(text: str) -> Any:
    """Return a JSON value whose numbers are finite, and which is not nested too deep.

    Raises:
        ValueError: it is none.
        RecursionError: it is nested too deep.
    """
    value = json.loads(text, parse_constant=_refuse_number, parse_float=_finite)
    _refuse_deep(value)
    return value


def _refuse_number(written: str) -> NoReturn:
    raise ValueError(f"{written[:20]} is no finite number")


def _finite(written: str) -> float:
    value = float(written)
    return value if math.isfinite(value) else _refuse_number(written)


def _refuse_deep(value: Any) -> None:
    level, values = 0, [value]
    while values:
        level += 1
        if level > _MAX_DEPTH:
            raise RecursionError
        values = [
            inner
            for item in values
            if isinstance(item, (dict, list))
            for inner in (item.values() if isinstance(item, dict) else item)
        ]


def objects(value: Any, key: str, place: Place, most: int) -> list[dict[str, Any]]:
    """Return a list of objects, empty for None.

    Raises:
        ConfigError: it is something else, or longer than `most`.
    """
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        place.refuse(f"{key} is no list of objects", "write it as the format has it")
    if len(value) > most:
        place.refuse(f"{key} has {len(value)} entries, more than {most}", "split the trace")
    return list(value)


def text_of(content: Any) -> str:
    """Return the text of a message's content: a text, parts of text, or any other JSON."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [part.get("text") or part.get("content") for part in content if _is_object(part)]
        if parts and all(isinstance(part, str) for part in parts):
            return "\n".join(parts)
    return json.dumps(content, ensure_ascii=False)


def call_of(call_id: Any, name: Any, arguments: Any, by: Speaker = Speaker.AGENT) -> ForeignCall:
    """Return a call; arguments are an object, or the text of one."""
    value = arguments
    if isinstance(value, str):
        try:
            value = parse_strict(value or "{}")
        except (ValueError, RecursionError):
            value = None
    if value is None and arguments is None:
        value = {}
    is_object = isinstance(value, dict)
    return ForeignCall(
        call_id=str(call_id or ""),
        name=str(name or ""),
        arguments=freeze(value) if is_object else None,
        written="" if is_object else text_of(arguments),
        by=by,
    )


def answer_of(content: Any, is_error: bool | None = None) -> ForeignAnswer:
    """Return an answer; `content` is what was shown, `is_error` what the trace says of it."""
    text = text_of(content)
    data: Any = None
    if text.lstrip()[:1] in ("{", "["):
        try:
            data = parse_strict(text)
        except (ValueError, RecursionError):
            data = None
    return ForeignAnswer(text=text, data=freeze(data), is_error=is_error)


def tools_of(listed: Sequence[Mapping[str, Any]], place: Place) -> FrozenDict[str, ForeignTool]:
    """Return tools by name, from a list in the form of OpenAI, of MCP, or of either's function.

    Raises:
        ConfigError: one has no name.
    """
    found = {}
    for number, entry in enumerate(listed):
        inner = entry.get("function")
        body: Mapping[str, Any] = inner if isinstance(inner, dict) else entry
        name = body.get("name")
        if not isinstance(name, str) or not name:
            place.refuse(f"tools.{number} has no name", "give each tool its name")
        hints = body.get("annotations")
        hint = hints.get("readOnlyHint") if isinstance(hints, dict) else None
        found[name] = ForeignTool(
            name=name,
            description=str(body.get("description") or ""),
            parameters=_schema(body, "parameters", "inputSchema", "input_schema"),
            output=_schema(body, "outputSchema", "output_schema"),
            is_read=hint if isinstance(hint, bool) else None,
        )
    return FrozenDict(found)


def outcome_of(reward: Any, said: Any, place: Place) -> tuple[Outcome, float | None]:
    """Return what a trace says of its success: `said` where it is there, else a full reward.

    Raises:
        ConfigError: what is said is neither, or the reward is no number.
    """
    number: float | None = None
    if reward is not None:
        if isinstance(reward, bool) or not isinstance(reward, (int, float)):
            place.refuse(f"reward is no number but {_kind(reward)}", "write a number, or leave it")
        number = float(reward)
        if not math.isfinite(number):
            place.refuse("reward is no finite number", "write a number, or leave it out")
    if said is not None:
        word = str(said).lower().strip()
        if word in words("passed"):
            return Outcome.PASSED, number
        if word in words("failed"):
            return Outcome.FAILED, number
        if word not in ("", "unknown"):
            place.refuse(f"outcome is '{word[:40]}'", "write passed or failed, or leave it out")
    if number is None:
        return Outcome.UNKNOWN, None
    return (Outcome.PASSED if number >= 1.0 else Outcome.FAILED), number


def _schema(body: Mapping[str, Any], *keys: str) -> Any:
    found = next((body[key] for key in keys if isinstance(body.get(key), dict)), None)
    return None if found is None else freeze(found)


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _kind(value: Any) -> str:
    names = {list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number" if isinstance(value, (int, float)) else "an object")
