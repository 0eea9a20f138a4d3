"""An OpenAPI 3 document read as a list of tools: each operation is one.

Owns what an operation becomes: its name, one schema of arguments for all its parameters and its
body, the schema of its answer, hints and description. The tools are raw, as a server would list
them, and are mended like any other. Nothing is fetched, nothing is called.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from components.environment.sources.documents import read_document
from components.environment.sources.listed import RawListing
from components.environment.sources.openapi_schemas import OpenApiSchemas
from components.environment.sources.records import UNKNOWN_LICENCE, SourceKind
from components.environment.sources.text import clean_line
from components.errors import SpecError

_METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace", "query")
_READ_ONLY = frozenset({"get", "head", "options", "trace", "query"})
_IDEMPOTENT = frozenset({"put", "delete"})
_PLACES = ("path", "query", "header", "cookie")
_IGNORED_HEADERS = frozenset({"accept", "content-type", "authorization"})
"""Header parameters that OpenAPI itself ignores."""
_PLAIN_BODY = frozenset(
    {"type", "properties", "required", "title", "description", "additionalProperties", "example",
     "examples", "xml", "externalDocs", "deprecated", "default"}
)  # fmt: skip
"""Keywords of a body whose properties can stand beside parameters."""
_BODY = "body"
_MAX_REMARKS = 200


@dataclass(slots=True)
class _Arguments:
    """The arguments of one operation, as they are put together."""

    properties: dict[str, Any] = field(default_factory=dict)
    required: list[str] = field(default_factory=list)
    closed: bool = False
    """No further arguments are allowed."""
    renamed: list[str] = field(default_factory=list)

    def add(self, name: str, place: str, schema: Any, *, is_required: bool) -> None:
        """Add one argument; where its name is taken, its place is told in the name."""
        free = name
        if free in self.properties:
            free = f"{name}_{place}"
            while free in self.properties:
                free = f"{free}_"
            self.renamed.append(f"{place} parameter {name!r} is called {free!r}")
        self.properties[free] = schema
        if is_required:
            self.required.append(free)

    def schema(self) -> dict[str, Any]:
        """Return the schema of the arguments."""
        schema: dict[str, Any] = {"type": "object", "properties": self.properties}
        if self.required:
            schema["required"] = self.required
        if self.closed:
            schema["additionalProperties"] = False
        return schema


def read_openapi(path: Path, licence: str = UNKNOWN_LICENCE) -> RawListing:
    """Return the operations of a document as what a server lists.

    Args:
        licence: of the document, where it says none.

    Raises:
        SpecError: it cannot be read, or is no OpenAPI 3 document with operations.
    """
    document = read_document(path)
    version = document.get("openapi") if isinstance(document, Mapping) else None
    if not isinstance(document, Mapping) or not str(version).startswith("3"):
        found = document.get("swagger") if isinstance(document, Mapping) else None
        said = f"Swagger {found}" if found else "no `openapi` version"
        raise SpecError(f"{path}: must be an OpenAPI 3 document (found {clean_line(said, 40)})")
    reader = _Reader(document)
    tools = list(reader.tools())
    if not tools:
        raise SpecError(f'{path}: key "paths" holds no operation; add one')
    info = _mapping(document.get("info"))
    title = info.get("title")
    name = title if isinstance(title, str) and title.strip() else path.stem
    return RawListing(
        name=clean_line(name),
        kind=SourceKind.OPENAPI,
        origin=path.name,
        source=f"file:{path.name}",
        tools=tools,
        title=clean_line(name),
        description=_text(info.get("description")),
        licence=_licence(info) or licence,
        security=reader.security(),
        remarks=tuple(reader.remarks[:_MAX_REMARKS]),
    )


class _Reader:
    """Reads the operations of one document."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document
        self._schemas = OpenApiSchemas(document)
        self.remarks: list[str] = []

    def tools(self) -> Iterator[dict[str, Any]]:
        """Return a raw tool for each operation, in the document's order."""
        named: set[str] = set()
        for path, item in _mapping(self._document.get("paths")).items():
            item = self._resolved(item)
            for method in _METHODS:
                operation = item.get(method)
                if not isinstance(operation, Mapping):
                    continue
                place = f"{method.upper()} {path}"
                given = operation.get("operationId")
                name = given if isinstance(given, str) and given.strip() else ""
                if not name or name in named:
                    if name:
                        self._remark(place, f"operationId {name!r} is another operation's")
                    name = _name_of(method, str(path))
                if name in named:
                    name = f"{name}_{method}"
                named.add(name)
                yield self._tool(name, place, method, item, operation)

    def security(self) -> tuple[str, ...]:
        """Return the security schemes that the document names, with their kinds."""
        components = _mapping(self._document.get("components"))
        found = []
        for name, scheme in _mapping(components.get("securitySchemes")).items():
            scheme = self._resolved(scheme)
            kinds = [scheme.get("type"), scheme.get("scheme"), scheme.get("in")]
            words = " ".join(kind for kind in kinds if isinstance(kind, str))
            found.append(clean_line(f"{name} ({words})" if words else str(name)))
        return tuple(sorted(found))

    def _tool(
        self,
        name: str,
        place: str,
        method: str,
        item: Mapping[str, Any],
        operation: Mapping[str, Any],
    ) -> dict[str, Any]:
        arguments = _Arguments()
        self._parameters(place, item, operation, arguments)
        self._body(operation, arguments)
        for what in arguments.renamed:
            self._remark(place, what)
        tool: dict[str, Any] = {
            "name": name,
            "description": _description(place, operation),
            "inputSchema": self._schemas.with_shared(arguments.schema(), is_request=True),
            "annotations": _annotations(method, operation),
        }
        answer = self._answer(operation)
        if answer is not None:
            tool["outputSchema"] = self._schemas.with_shared(answer, is_request=False)
        if operation.get("deprecated") is True:
            tool["deprecated"] = True
        return tool

    def _parameters(
        self,
        place: str,
        item: Mapping[str, Any],
        operation: Mapping[str, Any],
        arguments: _Arguments,
    ) -> None:
        found: dict[tuple[str, str], Mapping[str, Any]] = {}
        for owner in (item, operation):  # an operation's own replace those of its path
            given = owner.get("parameters")
            for raw in given if isinstance(given, list) else ():
                parameter = self._resolved(raw)
                name, where = parameter.get("name"), parameter.get("in")
                if not isinstance(name, str) or where not in _PLACES:
                    self._remark(place, "a parameter without name or place left out")
                elif not (where == "header" and name.lower() in _IGNORED_HEADERS):
                    found[str(where), name] = parameter
        for (where, name), parameter in sorted(
            found.items(), key=lambda entry: _PLACES.index(entry[0][0])
        ):
            schema = parameter.get("schema")
            if schema is None:
                media = next(iter(_mapping(parameter.get("content")).values()), None)
                schema = _mapping(media).get("schema", {})
            is_required = where == "path" or parameter.get("required") is True
            arguments.add(name, where, _described(schema, parameter), is_required=is_required)

    def _body(self, operation: Mapping[str, Any], arguments: _Arguments) -> None:
        body = self._resolved(operation.get("requestBody"))
        media = _preferred(_mapping(body.get("content")))
        if media is None:
            return
        schema = media.get("schema", {})
        is_required = body.get("required") is True
        whole = self._schemas.resolved(schema)
        properties = _mapping(whole.get("properties"))
        required = whole.get("required")
        required = [name for name in required if isinstance(name, str)] if required else []
        is_plain = (
            bool(properties)
            and whole.keys() <= _PLAIN_BODY
            and whole.get("type", "object") == "object"
            and whole.get("additionalProperties") in (None, False)
            and (is_required or not required)
        )
        if not is_plain:
            arguments.add(_BODY, _BODY, _described(schema, body), is_required=is_required)
            return
        if whole.get("additionalProperties") is False:
            arguments.closed = True
        for name, part in properties.items():
            if self._schemas.is_read_only(part):
                continue
            arguments.add(str(name), _BODY, part, is_required=name in required)

    def _answer(self, operation: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the schema of a success, as an object; None where the document gives none."""
        responses = {str(code): item for code, item in _mapping(operation.get("responses")).items()}
        codes = sorted(code for code in responses if re.fullmatch(r"2(\d\d|XX|xx)", code))
        for code in [*codes, *(["default"] if not codes and "default" in responses else [])]:
            media = _preferred(_mapping(self._resolved(responses[code]).get("content")))
            schema = None if media is None else media.get("schema")
            if not isinstance(schema, Mapping) or not schema:
                continue
            whole = self._schemas.resolved(schema)
            if whole.get("type") == "object" or isinstance(whole.get("properties"), Mapping):
                return dict(schema)
            return {"type": "object", "properties": {"result": schema}, "required": ["result"]}
        return None

    def _resolved(self, item: Any) -> Mapping[str, Any]:
        return self._schemas.resolved(item)

    def _remark(self, place: str, what: str) -> None:
        self.remarks.append(clean_line(f"{place}: {what}"))


def _name_of(method: str, path: str) -> str:
    words = re.findall(r"[A-Za-z0-9]+", path)
    return "_".join([method, *words]) if words else f"{method}_root"


def _description(place: str, operation: Mapping[str, Any]) -> str:
    parts = [_text(operation.get("summary")), _text(operation.get("description"))]
    if parts[0] and parts[1].startswith(parts[0]):
        parts = parts[1:]
    said = [part for part in parts if part] or [place]
    if operation.get("deprecated") is True:
        said.append("Deprecated.")
    return "\n\n".join(said)


def _annotations(method: str, operation: Mapping[str, Any]) -> dict[str, Any]:
    hints: dict[str, Any] = {"readOnlyHint": method in _READ_ONLY}
    if method == "delete":
        hints["destructiveHint"] = True
    if method in _IDEMPOTENT:
        hints["idempotentHint"] = True
    summary = operation.get("summary")
    return {**hints, "title": summary} if isinstance(summary, str) else hints


def _described(schema: Any, owner: Mapping[str, Any]) -> Any:
    """A schema with what the parameter or body says of itself, where the schema says nothing."""
    if not isinstance(schema, Mapping):
        return schema
    about = {
        key: owner[key]
        for key in ("description", "example", "deprecated")
        if key in owner and key not in schema
    }
    return {**schema, **about}


def _preferred(content: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The media type that tools speak, if there is one; else the first."""
    kinds = {str(kind).partition(";")[0].strip().lower(): kind for kind in content}
    for wanted in (r"application/json", r".*\+json", r"application/x-www-form-urlencoded", r".*"):
        for kind, key in kinds.items():
            if re.fullmatch(wanted, kind):
                return _mapping(content[key])
    return None


def _licence(info: Mapping[str, Any]) -> str:
    licence = _mapping(info.get("license"))
    given = licence.get("identifier") or licence.get("name")
    return clean_line(given) if isinstance(given, str) else ""


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""
