"""A file of servers as MCP clients keep it: which servers there are and how each is started.

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

from components.environment.sources.documents import (
    json_problem,
    parse_commented_json,
    read_document,
    read_lines,
    read_text,
)
from components.errors import SpecError

_PLACES = (
    ("mcpServers",),
    ("servers",),
    ("mcp", "servers"),
    ("context_servers",),
    ("mcp_servers",),
)
"""Where clients keep their servers, the most usual place first."""
_VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_ASKED = re.compile(r"\$\{(?:input:[^}]*|workspaceFolder[^}]*)\}")
"""What only the client itself can fill in."""
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
    error: str = ""
    """Why it can never be started, one line with file and key; empty where it can."""

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
    error: str = ""
    """Why there is none; empty where there is."""
    licence: str = ""
    """As the file says it; empty where it does not."""


def read_server_list(path: Path) -> tuple[ServerEntry, ...]:
    """Return the servers of a client's file, by name.

    A server that is described wrongly is an entry with an `error`, and costs the others nothing.

    Raises:
        SpecError: the file cannot be read, or none of its servers is described rightly; one line
            with file and key.
    """
    servers = servers_in(parse_document(path, read_text(path)))
    if servers is None:
        raise SpecError(f'{path}: key "mcpServers" must be an object of servers by name')
    if not servers:
        raise SpecError(f'{path}: key "mcpServers" names no server; add one')
    entries = tuple(checked_entry(path, name, servers[name]) for name in sorted(servers))
    if all(entry.error for entry in entries):
        raise SpecError(entries[0].error)
    return entries


def servers_in(document: Any) -> dict[str, Any] | None:
    """Return the servers of a client's settings by name, wherever that client keeps them; None
    where there is no such place.
    """
    if not isinstance(document, dict):
        return None
    for place in _PLACES:
        value: Any = document
        for key in place:
            value = value.get(key) if isinstance(value, dict) else None
        if isinstance(value, list):  # Continue lists them, each with its name
            value = {
                str(item.get("name") or f"server {at + 1}"): item
                for at, item in enumerate(value)
                if isinstance(item, dict)
            } or None
        if isinstance(value, dict):
            return value
    return None


def parse_document(path: Path, text: str) -> Any:
    """Return a client's settings: JSON with comments, YAML or TOML by the file's name."""
    if path.suffix in (".yaml", ".yml", ".toml"):
        return read_document(path)
    return parse_commented_json(path, text)


def read_recorded_listings(path: Path) -> tuple[RecordedListing, ...] | None:
    """Return saved `tools/list` answers, or None when the file lists servers to start.

    A `.jsonl` file (also `.jsonl.gz`) holds one answer a line (`{"server": name, "tools": [...]}`);
    a line that is none is a listing with an `error`. A JSON file holds one answer
    (`{"tools": [...]}`, the list itself, or a whole JSON-RPC response) or a list of such lines.

    Raises:
        SpecError: the file cannot be read or is no JSON.
    """
    if path.name.endswith((".jsonl", ".jsonl.gz", ".ndjson", ".gz")):
        stem = path.name.partition(".")[0]
        return tuple(
            _recorded_line(f"{stem}_{at + 1}", line) for at, line in enumerate(read_lines(path))
        )
    if path.suffix in (".yaml", ".yml", ".toml"):
        return None
    document = parse_commented_json(path, read_text(path))
    if servers_in(document) is not None or (
        isinstance(document, dict) and "mcpServers" in document
    ):
        return None
    if _is_many(document):
        return tuple(_recorded(f"{path.stem}_{at + 1}", item) for at, item in enumerate(document))
    listing = _recorded(path.stem, document)
    if listing.error:
        raise SpecError(
            f'{path}: needs a key "mcpServers" (servers to start) or "tools" (a saved list)'
        )
    return (listing,)


def _is_many(document: Any) -> bool:
    return (
        isinstance(document, list)
        and bool(document)
        and all(isinstance(item, dict) and "tools" in item for item in document)
    )


def _recorded_line(name: str, line: str) -> RecordedListing:
    try:
        return _recorded(name, json.loads(line))
    except (ValueError, RecursionError) as error:
        return RecordedListing(name=name, tools=None, error=f"{name}: {json_problem(error)}")


def _recorded(name: str, body: Any) -> RecordedListing:
    names = [] if not isinstance(body, dict) else [body.get("server"), body.get("name")]
    licence = "" if not isinstance(body, dict) else body.get("licence") or body.get("license")
    if isinstance(body, dict) and isinstance(body.get("result"), dict):
        body = body["result"]
    if isinstance(body, list):
        body = {"tools": body}
    given = next((item for item in names if isinstance(item, str) and item.strip()), name)
    if not isinstance(body, dict) or "tools" not in body:
        return RecordedListing(name=given, tools=None, error=f'{given}: needs a key "tools"')
    return RecordedListing(
        name=given, tools=body["tools"], licence=licence if isinstance(licence, str) else ""
    )


def checked_entry(path: Path, name: str, body: Any) -> ServerEntry:
    """Return one entry; what is wrong with it is its `error`."""
    try:
        return _entry(path, name, body)
    except SpecError as error:
        return ServerEntry(name=name, error=str(error))


def _entry(path: Path, name: str, body: Any) -> ServerEntry:
    place = f"{path}: mcpServers.{name}"
    if not isinstance(body, dict):
        raise SpecError(f"{place}: must be an object with `command` or `url`")
    reader = _Reader(place, _plain_body(body))
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


def _plain_body(body: dict[str, Any]) -> dict[str, Any]:
    """An entry in the words of most clients; a few have words of their own."""
    plain = dict(body)
    command = body.get("command")
    if isinstance(command, dict):  # Zed once kept a program and its arguments together
        plain = {**plain, **command, "command": command.get("path", command.get("command"))}
    if isinstance(command, list) and command:
        plain["command"], plain["args"] = command[0], [*command[1:], *(body.get("args") or [])]
    for other in ("httpUrl", "serverUrl"):
        if plain.get("url") is None and body.get(other) is not None:
            plain["url"] = body[other]
    if plain.get("type") is None and isinstance(body.get("transport"), str):
        plain["type"] = body["transport"]
    if plain.get("headers") is None and body.get("http_headers") is not None:
        plain["headers"] = body["http_headers"]
    if plain.get("disabled") is None and body.get("enabled") is False:
        plain["disabled"] = True
    return plain


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
        asked = _ASKED.search(text)
        if asked:
            raise SpecError(
                f"{self.place}.{key}: {asked[0]} is known to its client only; write its value"
            )

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
