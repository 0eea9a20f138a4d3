"""Paths of files and folders: which folder something lies in, and how deep.

Owns what two paths have to do with each other. Nothing here looks at a real file system.
"""

from __future__ import annotations

import posixpath
from fnmatch import fnmatchcase

HERE = "."
"""The folder that relative paths begin in."""


def folder_of(path: str) -> str:
    """Return the folder that a path lies in.

    Example:
        >>> folder_of("drafts/poem.txt"), folder_of("poem.txt"), folder_of("/etc")
        ('drafts', '.', '/')
    """
    return posixpath.dirname(_plain(path)) or HERE


def last_part(path: str) -> str:
    """Return what a path's own folder calls it.

    Example:
        >>> last_part("drafts/poem.txt"), last_part("drafts/")
        ('poem.txt', 'drafts')
    """
    return posixpath.basename(_plain(path)) or path


def levels_below(path: str | None, folder: str | None) -> int | None:
    """Return how many levels a path lies below a folder; 0 for the folder itself, None where it is
    elsewhere.

    Example:
        >>> levels_below("a/b/c.txt", "a"), levels_below("./a/", "a"), levels_below("ab", "a")
        (2, 0, None)
    """
    if path is None or folder is None:
        return None
    own, place = _plain(path), _plain(folder)
    if own == place:
        return 0
    if place == HERE:
        return None if own.startswith("/") else own.count("/") + 1
    start = place if place.endswith("/") else f"{place}/"
    return own.removeprefix(start).count("/") + 1 if own.startswith(start) else None


def is_like(path: str, pattern: str) -> bool:
    """Return whether a path, or its last part, is like a pattern with `*` and `?`; a pattern
    without them is looked for anywhere in it.

    Example:
        >>> is_like("a/poem.TXT", "*.txt"), is_like("a/b/c.md", "**/*.md"), is_like("a/poem", "oe")
        (True, True, True)
    """
    own, wanted = _plain(path).lower(), pattern.lower()
    if not set(wanted) & set("*?["):
        return wanted in own
    wanted = wanted.replace("**/", "*")
    return fnmatchcase(own, wanted) or fnmatchcase(posixpath.basename(own), wanted)


def _plain(path: str) -> str:
    plain = posixpath.normpath(path.replace("\\", "/")) if path else HERE
    return plain.removeprefix("/") if plain.startswith("//") else plain
