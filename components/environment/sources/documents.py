"""Files as people and programs keep them: JSON, JSON with comments, lines of it, YAML, TOML.

Owns reading and decoding, with bounds. Each fault is one line that names the file.
"""

from __future__ import annotations

import gzip
import json
import re
import tomllib
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]
from pydantic import ValidationError

from components.errors import SpecError

MAX_FILE_BYTES = 256_000_000
MAX_LINE_CHARACTERS = 64_000_000
"""Characters of one line of a file of many servers."""
_MAX_YAML_NODES = 2_000_000

# Inside a string nothing is a comment; outside, comments and commas before a bracket go.
_NOT_JSON = re.compile(
    r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/|,(?=(?:\s|//[^\n]*|/\*.*?\*/)*[}\]])', re.DOTALL
)


def read_text(path: Path) -> str:
    """Return a file's text.

    Raises:
        SpecError: it cannot be read, is too large, or is no UTF-8.
    """
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise SpecError(f"{path}: is larger than {MAX_FILE_BYTES} bytes")
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise _unreadable(path, error) from None


def parse_json(path: Path, text: str) -> Any:
    """Return a JSON document.

    Raises:
        SpecError: it is none.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SpecError(f"{path}: {json_problem(error)}") from None


def parse_commented_json(path: Path, text: str) -> Any:
    """Return a JSON document that may hold comments and commas too many, as editors' settings do.

    Raises:
        SpecError: it is none, in the words for the text as it stands.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        problem = json_problem(error)
    try:
        return json.loads(_NOT_JSON.sub(lambda match: match[1] or " ", text))
    except (ValueError, RecursionError):
        raise SpecError(f"{path}: {problem}") from None


def json_problem(error: Exception) -> str:
    """Return in words why a text is no JSON."""
    if isinstance(error, json.JSONDecodeError):
        return f"not valid JSON (line {error.lineno}: {error.msg})"
    if isinstance(error, RecursionError):
        return "not valid JSON (nested too deep)"
    return "not valid JSON (a number with too many digits)"  # Python reads at most 4300


def first_problem(error: ValidationError) -> tuple[str, str]:
    """Return the first thing that a record does not take: its dotted key (empty: the whole), and
    why. What was found there is left out.
    """
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    return ".".join(str(part) for part in first["loc"]), first["msg"]


def read_lines(path: Path) -> Iterator[str]:
    """Return the lines of a file that are not empty, of a `.gz` file unpacked.

    Raises:
        SpecError: it cannot be read or unpacked, or a line is too long.
    """
    try:
        with (
            gzip.open(path, "rt", encoding="utf-8-sig", errors="replace")
            if path.suffix == ".gz"
            else path.open(encoding="utf-8-sig", errors="replace")
        ) as file:
            while line := file.readline(MAX_LINE_CHARACTERS):
                if len(line) == MAX_LINE_CHARACTERS:
                    raise SpecError(
                        f"{path}: has a line of more than {MAX_LINE_CHARACTERS} characters"
                    )
                if line.strip():
                    yield line
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise _unreadable(path, error) from None


def read_document(path: Path) -> Any:
    """Return a JSON, YAML or TOML document, by the file's name, else by its first character.

    Raises:
        SpecError: it cannot be read.
    """
    text = read_text(path)
    if path.suffix == ".toml":
        try:
            return tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise SpecError(f"{path}: not valid TOML ({str(error)[:80]})") from None
    if path.suffix in (".yaml", ".yml") or not text.lstrip().startswith(("{", "[", "/")):
        return parse_yaml(path, text)
    return parse_commented_json(path, text)


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """YAML 1.2 as JSON has it: `on`, `yes` and dates are texts."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}


for _tag, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?(?:0|[1-9][0-9]*)|0x[0-9a-fA-F]+", list("-+0123456789")),
    ("float", r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?", list("-+.0123456789")),
    ("merge", r"<<", ["<"]),
):
    _Loader.add_implicit_resolver(
        f"tag:yaml.org,2002:{_tag}", re.compile(rf"^(?:{_pattern})$"), _first
    )


def parse_yaml(path: Path, text: str) -> Any:
    """Return a YAML document as JSON values; keys are texts.

    Raises:
        SpecError: it is none, or refers to itself, or unfolds to a size without end.
    """
    try:
        document = yaml.load(text, Loader=_Loader)
        _size(document, {}, set())
        return _as_json(document)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f"line {mark.line + 1}: " if mark is not None else ""
        problem = str(getattr(error, "problem", "") or type(error).__name__)[:80]
        raise SpecError(f"{path}: not valid YAML ({line}{problem})") from None
    except RecursionError:
        raise SpecError(f"{path}: not valid YAML (nested too deep)") from None
    except ValueError as error:
        raise SpecError(f"{path}: not valid YAML ({str(error)[:80]})") from None


def _size(value: Any, known: dict[int, int], around: set[int]) -> int:
    """Nodes of a value when its aliases are unfolded.

    Raises:
        ValueError: they are too many, or never end.
    """
    if not isinstance(value, (dict, list)):
        return 1
    key = id(value)
    if key in around:
        raise ValueError("an alias stands inside what it names")
    if key not in known:
        around.add(key)
        items = value.values() if isinstance(value, dict) else value
        known[key] = 1 + sum(_size(item, known, around) for item in items)
        around.discard(key)
    if known[key] > _MAX_YAML_NODES:
        raise ValueError("its aliases unfold to too much")
    return known[key]


def _as_json(value: Any) -> Any:
    if isinstance(value, dict):
        return {_key(key): _as_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_as_json(item) for item in value]
    if isinstance(value, (str, int, float, bool)) or value is None:
        return value
    return str(value)


def _key(key: Any) -> str:
    if isinstance(key, bool):
        return "true" if key else "false"
    return "null" if key is None else str(key)


def _unreadable(path: Path, error: Exception) -> SpecError:
    if isinstance(error, SpecError):
        return error
    if isinstance(error, OSError) and error.strerror:
        return SpecError(f"{path}: cannot be read ({error.strerror})")
    if isinstance(error, UnicodeDecodeError):
        return SpecError(f"{path}: cannot be read (it is not UTF-8 text)")
    return SpecError(f"{path}: cannot be read ({type(error).__name__})")
