"""An `mcpServers` file as MCP clients keep it: which servers there are and how each is started.

Owns the file's shape, `${NAME}` expansion and the collection of secret values. It refuses to start
anything. An entry never shows its values: neither `repr` nor an error message holds more than the
server's name and the key.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from components.errors import SpecError

_VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_SECRET_OPTION = re.compile(
    r"^--?[\w-]*(key|token|secret|passw|credential|auth)[\w-]*", re.IGNORECASE
)
_HTTP_TYPES = frozenset({"http", "streamable-http", "streamable_http", "streamableHttp"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerEntry:
    """One server of the list. Values are kept out of `repr`, so that no log can hold them."""

    name: str
    command: str = field(default="", repr=False)
    """Program to start; empty for a server reached by address."""
    args: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: str | None = field(default=None, repr=False)
    url: str = field(default="", repr=False)
    """Address of a streamable HTTP server; empty for a server started by command."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    disabled: bool = False
    """True: the list says that clients shall not start it."""
    secrets: tuple[str, ...] = field(default=(), repr=False)
    """Values that must never leave this entry."""

    @property
    def source(self) -> str:
        """Where a spec from this server comes from, as `ServiceSpec.source` names it."""
        return f"{'http' if self.url else 'stdio'}:{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedListing:
    """A `tools/list` answer that was saved to a file."""

    name: str
    tools: Any
    """The answer's `tools`, as JSON, however messy."""


def read_server_list(path: Path) -> tuple[ServerEntry, ...]:
    """Return the servers of an `mcpServers` file, by name.

    Raises:
        SpecError: the file cannot be read, or a key has a wrong value; one line with file and key.
    """
    document = _json(path, _text(path))
    servers = document.get("mcpServers") if isinstance(document, dict) else None
    if not isinstance(servers, dict):
        raise SpecError(f'{path}: key "mcpServers" must be an object of servers by name')
    if not servers:
        raise SpecError(f'{path}: key "mcpServers" names no server; add one')
    return tuple(_entry(path, name, servers[name]) for name in sorted(servers))


def read_recorded_listings(path: Path) -> tuple[RecordedListing, ...] | None:
    """Return saved `tools/list` answers, or None when the file is an `mcpServers` file.

    A `.jsonl` file holds one answer a line (`{"server": name, "tools": [...]}`); a JSON file holds
    one answer (`{"tools": [...]}`, the list itself, or a whole JSON-RPC response).

    Raises:
        SpecError: the file cannot be read or is no JSON.
    """
    text = _text(path)
    if path.suffix == ".jsonl":
        lines = [_json(path, line) for line in text.splitlines() if line.strip()]
        return tuple(_recorded(path, f"{path.stem}_{i + 1}", body) for i, body in enumerate(lines))
    document = _json(path, text)
    if isinstance(document, dict) and "mcpServers" in document:
        return None
    if isinstance(document, dict) and isinstance(document.get("result"), dict):
        document = document["result"]
    if isinstance(document, list):
        document = {"tools": document}
    if not isinstance(document, dict) or "tools" not in document:
        raise SpecError(
            f'{path}: needs a key "mcpServers" (servers to start) or "tools" (a saved list)'
        )
    return (_recorded(path, path.stem, document),)


def _recorded(path: Path, name: str, body: Any) -> RecordedListing:
    if not isinstance(body, dict) or "tools" not in body:
        raise SpecError(f'{path}: {name}: needs a key "tools"')
    given = body.get("server") or body.get("name")
    return RecordedListing(name=given if isinstance(given, str) else name, tools=body["tools"])


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise SpecError(f"{path}: cannot be read ({reason})") from None


def _json(path: Path, text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise SpecError(f"{path}: not valid JSON (line {error.lineno}: {error.msg})") from None
    except ValueError:  # Python reads no integer of more than 4300 digits
        raise SpecError(f"{path}: not valid JSON (a number with too many digits)") from None
    except RecursionError:
        raise SpecError(f"{path}: not valid JSON (nested too deep)") from None


def _entry(path: Path, name: str, body: Any) -> ServerEntry:
    place = f"{path}: mcpServers.{name}"
    if not isinstance(body, dict):
        raise SpecError(f"{place}: must be an object with `command` or `url`")
    reader = _Reader(place, body)
    command, url = reader.text("command"), reader.text("url")
    kind = reader.text("type")
    if bool(command) is bool(url):
        raise SpecError(f"{place}: needs exactly one of `command` (stdio) and `url` (HTTP)")
    if url and kind and kind not in _HTTP_TYPES:
        raise SpecError(f"{place}.type: only `http` (streamable HTTP) is supported for `url`")
    if url and not _is_address(url):
        raise SpecError(f"{place}.url: must be an address that begins with http:// or https://")
    args = reader.texts("args")
    env, headers = reader.mapping("env"), reader.mapping("headers")
    secrets = {*env.values(), *headers.values(), *_in_url(url), *_in_args(args), *reader.expanded}
    return ServerEntry(
        name=name,
        command=command,
        args=args,
        env=env,
        cwd=reader.text("cwd") or None,
        url=url,
        headers=headers,
        disabled=reader.flag("disabled"),
        secrets=tuple(sorted(secrets)),
    )


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


class _Reader:
    """Reads the keys of one entry; lives while that entry is parsed."""

    def __init__(self, place: str, body: dict[str, Any]) -> None:
        self.place = place
        self.body = body
        self.expanded: set[str] = set()

    def text(self, key: str) -> str:
        value = self.body.get(key)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise SpecError(f"{self.place}.{key}: must be a text")
        return self._expand(value, key)

    def flag(self, key: str) -> bool:
        value = self.body.get(key)
        if value not in (None, True, False):  # "false", "no": started or not, it might be wrong
            raise SpecError(f"{self.place}.{key}: must be true or false")
        return value is True

    def texts(self, key: str) -> tuple[str, ...]:
        value = self.body.get(key)
        if value is None:
            return ()
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise SpecError(f"{self.place}.{key}: must be a list of texts")
        return tuple(self._expand(item, key) for item in value)

    def mapping(self, key: str) -> dict[str, str]:
        value = self.body.get(key)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise SpecError(f"{self.place}.{key}: must be an object of texts")
        found = {}
        for name, item in value.items():
            if isinstance(item, bool):
                item = "true" if item else "false"
            if not isinstance(item, (str, int, float)):
                raise SpecError(f"{self.place}.{key}.{name}: must be a text")
            found[name] = self._expand(str(item), f"{key}.{name}")
        return found

    def _expand(self, text: str, key: str) -> str:
        if "\0" in text:
            raise SpecError(f"{self.place}.{key}: holds a NUL character")

        def replace(match: re.Match[str]) -> str:
            value = os.environ.get(match[1], match[2])
            if value is None:
                raise SpecError(
                    f"{self.place}.{key}: environment variable {match[1]} is not set; "
                    f"set it or write ${{{match[1]}:-default}}"
                )
            self.expanded.add(value)
            return value

        return _VARIABLE.sub(replace, text)


def _in_url(url: str) -> set[str]:
    """Credentials and query values of an address."""
    parts = urlsplit(url)
    user_info = parts.netloc.rpartition("@")[0]
    found = {value for _, value in parse_qsl(parts.query)}
    return found | {unquote(part) for part in user_info.split(":") if part}


def _in_args(args: tuple[str, ...]) -> set[str]:
    """Values of options such as `--api-key X` and `--token=X`."""
    found: set[str] = set()
    for index, argument in enumerate(args):
        if not _SECRET_OPTION.match(argument):
            continue
        _, equals, value = argument.partition("=")
        if equals:
            found.add(value)
        elif index + 1 < len(args) and not args[index + 1].startswith("-"):
            found.add(args[index + 1])
    return found
