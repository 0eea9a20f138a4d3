"""A server's own source, where a path to it is given: which files there are, and their text.

Reads, never executes. Links that lead out of the folder, binary files and folders of other people's
packages are passed over; sizes are bounded.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from components.errors import ConfigError
from components.records.frozen import content_hash

MAX_FILES = 8
"""Files that are shown to the model."""
MAX_FILE_BYTES = 24_000
_MAX_LISTED = 400
_PASSED_OVER = frozenset(
    {"node_modules", "dist", "build", "vendor", "target", "site-packages", "__pycache__", "venv"}
)
_ENDINGS = frozenset(
    {".c", ".cc", ".cpp", ".cs", ".ex", ".go", ".java", ".js", ".kt", ".md", ".mjs", ".php", ".py",
     ".rb", ".rs", ".scala", ".sql", ".swift", ".ts", ".tsx"}
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file of the server's source."""

    name: str
    """Path below the folder, with slashes."""
    size: int
    path: Path


def list_source(root: Path) -> Mapping[str, SourceFile]:
    """Return the files of a server's source by name, the largest left out past a limit.

    Raises:
        ConfigError: there is nothing at the path.
    """
    if not root.exists():
        raise ConfigError(
            f"environment.author.source={root}: no such file or folder; name the folder with the "
            "server's source, or null"
        )
    home = root.resolve()
    if home.is_file():
        return {home.name: SourceFile(home.name, home.stat().st_size, home)}
    found = []
    for folder, inner, names in os.walk(home):
        inner[:] = sorted(n for n in inner if n not in _PASSED_OVER and not n.startswith("."))
        for name in sorted(names):
            path = Path(folder) / name
            if path.suffix.lower() in _ENDINGS and not path.is_symlink() and path.is_file():
                shown = path.relative_to(home).as_posix()
                found.append(SourceFile(shown, path.stat().st_size, path))
    found.sort(key=lambda file: (file.size > MAX_FILE_BYTES * 4, file.name.count("/"), file.name))
    return {file.name: file for file in found[:_MAX_LISTED]}


def hash_source(root: Path) -> str:
    """Return the hash of the names and texts of a server's source.

    Raises:
        ConfigError: there is nothing at the path.
    """
    found = {}
    for name, file in list_source(root).items():
        found[name] = hashlib.sha256(file.path.read_bytes()).hexdigest()
    return content_hash(found)


def read_source(files: Iterable[SourceFile]) -> list[dict[str, str]]:
    """Return name and text of each file, cut to the limit."""
    shown = []
    for file in files:
        with open(file.path, "rb") as stream:
            body = stream.read(MAX_FILE_BYTES)
        shown.append({"name": file.name, "text": body.decode("utf-8", "replace")})
    return shown
