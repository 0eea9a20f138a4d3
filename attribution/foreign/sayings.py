"""Which words stand for a value, and who said them first.

A value is an id more often than not, and people speak of what it stands for: the records of the
tools' answers say what that is. Words are compared in lower case and without a plural's s.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from attribution.foreign.records import ForeignTrace, Speaker
from attribution.foreign.replay import Replay
from attribution.foreign.words import words

_WORD = re.compile(r"[a-z0-9]+")
_ID = re.compile(r"(?=.*[0-9])[#A-Za-z0-9_-]{4,}")
_SHORTEST = 3
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_LONG = 4
_STEM = 5
"""Letters by which a verb is known in its forms: cancel, cancelling."""


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text that say something."""
    found = (word.removesuffix("s") for word in _WORD.findall(text.lower()))
    return frozenset(
        word
        for word in found
        if (len(word) >= _SHORTEST or any(c.isdigit() for c in word))
        and word not in words("empty_words")
    )


def is_number(word: str) -> bool:
    """Return whether a word is a long number: an id, or a postal code, that names no wish."""
    return word.isdigit() and len(word) >= _LONG


class Sayings:
    """The words of one trace: of its scenario, of what was said when, and of values."""

    def __init__(self, replay: Replay) -> None:
        self._trace: ForeignTrace = replay.trace
        self.scenario = word_set("\n".join(replay.task.texts))
        said = "\n".join(m.text for m in self._trace.messages if m.speaker is Speaker.USER)
        self.is_verbatim = all(text in said for text in replay.task.texts)
        """Whether the user has said the task's own text, and so can have left nothing out."""
        self._records: dict[str, set[str]] = defaultdict(set)
        self._lists: dict[str, set[str]] = defaultdict(set)
        self._seen = ""
        for done in (*replay.done, *replay.gold):
            try:
                body = json.loads(done.answer["text"])
            except (ValueError, RecursionError):
                continue
            self._index(body, ())
            self._seen += done.answer["text"].lower() + "\n"

    def of_value(self, value: Any) -> frozenset[str]:
        """Return the words that stand for a value: those of its records, and its own."""
        if isinstance(value, (list, tuple)):
            return frozenset().union(*map(self.of_value, value))
        if isinstance(value, Mapping):
            return frozenset().union(*map(self.of_value, value.values()))
        text = str(value)
        return word_set(text) | word_set(" ".join(self._records.get(text.lower(), ())))

    def is_told(self, value: Any) -> bool:
        """Return whether the scenario speaks of a value: of most words of a text, of any of a
        record's."""
        if isinstance(value, (list, tuple)):
            return any(map(self.is_told, value))
        own = word_set(str(value))
        if str(value).lower() in self._records or not own:
            return bool(self.of_value(value) & self.scenario)
        return len(own & self.scenario) * 2 > len(own)

    def last_sentence(self, wanted: Iterable[str]) -> tuple[int | None, str]:
        """Return the user's last sentence that holds at least half as many of some words as its
        best one, with the index of its message; None and nothing: it holds none."""
        sought = frozenset(wanted)
        found = [
            (len(sought & word_set(sentence)), index, sentence)
            for index, message in enumerate(self._trace.messages)
            if message.speaker is Speaker.USER
            for sentence in _SENTENCE.split(message.text)
        ]
        best = max((count for count, _, _ in found), default=0)
        if not best:
            return None, ""
        _, index, sentence = [item for item in found if item[0] * 2 >= best][-1]
        return index, sentence

    def of_user(self, before: int | None = None) -> frozenset[str]:
        """Return the words that the user has said before a message; None: at all."""
        return self._said(Speaker.USER, before)

    def of_agent(self, before: int | None = None) -> frozenset[str]:
        """Return the words that the agent has said to the user before a message."""
        return self._said(Speaker.AGENT, before)

    def names_in(self, value: Any) -> frozenset[str]:
        """Return the words of the names in the lists of a value's records."""
        return word_set(" ".join(self._lists.get(str(value).lower(), ())))

    def is_seen(self, value: Any) -> bool:
        """Return whether a value stands in an answer of a tool."""
        return str(value).lower() in self._seen

    def last_user(self, wanted: Iterable[str], before: int | None = None) -> int | None:
        """Return the index of the user's last message with one of some words, if there is one."""
        sought = frozenset(wanted)
        found = [
            index
            for index, message in enumerate(self._trace.messages[:before])
            if message.speaker is Speaker.USER and sought & word_set(message.text)
        ]
        return found[-1] if found else None

    def first_user(self, wanted: Iterable[str], before: int | None = None) -> int | None:
        """Return the index of the user's first message with one of some words, if there is one."""
        return self._first(Speaker.USER, frozenset(wanted), before)

    def first_agent(self, wanted: Iterable[str], before: int | None = None) -> int | None:
        """Return the index of the agent's first message with one of some words."""
        return self._first(Speaker.AGENT, frozenset(wanted), before)

    def first_with(self, speaker: Speaker, begin: str, before: int | None = None) -> int | None:
        """Return the index of a speaker's first message with a word of the same beginning."""
        stem = begin[:_STEM]
        for index, message in enumerate(self._trace.messages[:before]):
            if message.speaker is speaker and any(
                word.startswith(stem) for word in word_set(message.text)
            ):
                return index
        return None

    def turn_after(self, message: int) -> int:
        """Return the agent's turn that answers a message."""
        turn, last = -1, 0
        for index, item in enumerate(self._trace.messages):
            turn += item.speaker is Speaker.AGENT
            last = max(turn, 0)
            if index > message and item.speaker is Speaker.AGENT:
                return turn
        return last

    def _said(self, speaker: Speaker, before: int | None) -> frozenset[str]:
        texts = (m.text for m in self._trace.messages[:before] if m.speaker is speaker)
        return word_set("\n".join(texts))

    def _first(self, speaker: Speaker, wanted: frozenset[str], before: int | None) -> int | None:
        for index, message in enumerate(self._trace.messages[:before]):
            if message.speaker is speaker and wanted & word_set(message.text):
                return index
        return None

    def _index(self, node: Any, names: tuple[str, ...]) -> None:
        """Note under each id of a record what the record says of it."""
        if isinstance(node, list):
            for item in node:
                self._index(item, names)
            return
        if not isinstance(node, dict):
            return
        own = [*names, *_told(node)]
        for value in node.values():
            if isinstance(value, str) and _ID.fullmatch(value):
                self._records[value.lower()].update(own)
                self._lists[value.lower()].update(_listed(node))
        here = tuple(v for k, v in node.items() if isinstance(v, str) and _is_name(k))
        for key, value in node.items():
            if isinstance(value, dict) and _ID.fullmatch(key):
                self._records[key.lower()].update([*names, *here, *_told(value)])
            self._index(value, here or names)


def _is_name(key: str) -> bool:
    return key.lower().endswith(("name", "title", "label"))


def _told(node: Mapping[str, Any]) -> list[str]:
    """Return texts of a record: its own, those of its plain parts, and the names in its lists."""
    found = []
    for value in node.values():
        if isinstance(value, str) and not _ID.fullmatch(value):
            found.append(value)
        elif isinstance(value, dict):
            found += [v for v in value.values() if isinstance(v, str)]
    return [*found, *_listed(node)]


def _listed(node: Mapping[str, Any]) -> list[str]:
    rows = [row for value in node.values() if isinstance(value, list) for row in value]
    return [
        value
        for row in rows
        if isinstance(row, dict)
        for key, value in row.items()
        if isinstance(value, str) and _is_name(key)
    ]
