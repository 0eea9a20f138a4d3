"""Which values of gold nothing says: not the user, no observation, no schema.

An agent knows what the user has said so far, what gold's earlier calls answered, what reads answer
that take only what is known, and what the tools' schemas spell out. Free text is the agent's own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from components.task.foreign.worker import Call, Foreign, ForeignTask, Played, Turns

MOST_READS = 60
"""Reads made to look for a value, for one task."""
MOST_WORDS = 3
"""A text of more words is the agent's own."""
_NUMBERS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve", "thirteen", "fourteen", "fifteen",
)  # fmt: skip


def fields(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the key and value of every leaf."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from fields(item, str(name))
    elif isinstance(value, list):
        for item in value:
            yield from fields(item, key)
    else:
        yield key, value


def said(value: Any, text: str) -> bool:
    """Is a value in a text, however it is written there?"""
    if value is None or isinstance(value, bool) or value == "":
        return True
    if isinstance(value, int | float):
        plain = f"{value:g}" if float(value).is_integer() else str(value)
        if re.search(rf"(?<![\d.]){re.escape(plain)}(?![\d])", text.replace(",", "")):
            return True
        return isinstance(value, int) and 0 <= value < len(_NUMBERS) and _NUMBERS[value] in text
    wanted = _plain(str(value))
    if not wanted or wanted in _plain(text):
        return True
    pieces = re.findall(r"[a-z]+|\d+", str(value).lower())
    words = set(re.findall(r"[a-z]+|\d+", text.lower()))
    return len(pieces) > 1 and words.issuperset(pieces)


def _plain(text: str) -> str:
    return re.sub(r"[\W_]+", "", text.lower())


def unsaid(foreign: Foreign, task: ForeignTask, gold: Played) -> list[tuple[Call, str, Any]]:
    """Return calls with an argument and its value that nothing says."""
    schemas = json.dumps(task.tools)
    missing: dict[tuple[str, Any], tuple[int, int, Call]] = {}
    known: list[str] = []
    for turn, calls in enumerate(task.gold):
        known.append(task.texts[turn] if turn < len(task.texts) else "")
        for position, (call, answer) in enumerate(zip(calls, gold.answers[turn], strict=True)):
            for key, value in () if answer["error"] else fields(call["arguments"]):
                if _is_name(key, value) and not said(value, "\n".join([*known, schemas])):
                    missing.setdefault((key, value), (turn, position, call))
            known.append(answer["text"])
    if not missing:
        return []
    more = "\n".join([*known, *_looked_up(foreign, task, known)])
    return [
        (call, key, value)
        for (key, value), (turn, position, call) in missing.items()
        if not said(value, more) and not said(value, _seen_there(foreign, task, turn, position))
    ]


def _seen_there(foreign: Foreign, task: ForeignTask, turn: int, position: int) -> str:
    """Return what the reads that need nothing answer right before a call of gold."""
    reads = [call for call in task.reads if call["tool"] in task.tools]
    turns = [
        *task.gold[:turn],
        [*task.gold[turn][:position], *reads],
        *([] for _ in task.gold[turn + 1 :]),
    ]
    return "\n".join(answer["text"] for answer in foreign.run(task.name, turns, "").flat)


def unsaid_wordings(task: ForeignTask, gold: Played) -> Iterator[tuple[int, int, str, str]]:
    """Yield turn, position, argument and text of a write that is worded as nothing says."""
    known: list[str] = []
    for turn, calls in enumerate(task.gold):
        known.append(task.texts[turn] if turn < len(task.texts) else "")
        for position, call in enumerate(calls):
            answer = gold.answers[turn][position]
            for key, value in call["arguments"].items() if answer.get("wrote") else ():
                is_long = isinstance(value, str) and len(value.split()) > MOST_WORDS
                if is_long and not said(value, "\n".join(known)):
                    yield turn, position, key, value
            known.append(answer["text"])


def _is_name(key: str, value: Any) -> bool:
    """Is this a value that names something, so that it must come from somewhere?"""
    if isinstance(value, int) and not isinstance(value, bool):
        return key.endswith("_id")
    if not isinstance(value, str) or len(value.split()) > MOST_WORDS:
        return False
    if re.fullmatch(r"\d{4}-\d\d-\d\d|\d\d:\d\d", value):
        return False  # dates are told in words
    if re.fullmatch(r"[\d\s.()+*/-]*[+*/-][\d\s.()+*/-]*", value):
        return False  # a sum is worked out
    return any(char.isdigit() for char in value) or key.endswith(("_id", "_name", "name", "zip"))


def _looked_up(foreign: Foreign, task: ForeignTask, known: list[str]) -> list[str]:
    """Return what reads answer that need nothing but what is known."""
    asked: dict[str, Call] = {
        json.dumps(c, sort_keys=True): c for c in task.reads if c["tool"] in task.tools
    }
    texts = list(known)
    for _ in range(3):
        fresh = {
            name: call
            for call in _reads(task, texts)
            if (name := json.dumps(call, sort_keys=True)) not in asked
        }
        first = asked.values() if len(texts) == len(known) else ()
        todo = [*first, *fresh.values()][:MOST_READS]
        asked |= {json.dumps(call, sort_keys=True): call for call in todo}
        if not todo:
            break
        turns: Turns = [todo, *([] for _ in task.gold[1:])]
        played = foreign.run(task.name, turns, "")
        texts += [answer["text"] for answer in played.flat if not answer["error"]]
    return texts[len(known) :]


def _reads(task: ForeignTask, texts: list[str]) -> Iterator[Call]:
    seen = list(_seen(texts))
    for tool, schema in task.tools.items():
        needs = schema.get("required") or []
        if not schema.get("reads") or len(needs) > 1:
            continue
        if not needs:
            yield {"tool": tool, "arguments": {}}
            continue
        noun = needs[0].removesuffix("_id")
        for key, value in seen:
            if key in (needs[0], f"{noun}s"):
                yield {"tool": tool, "arguments": {needs[0]: value}}


def _seen(texts: list[str]) -> Iterator[tuple[str, str]]:
    for text in texts:
        try:
            body = json.loads(text)
        except ValueError:
            for word in re.findall(r"#?\w*\d\w*", text):
                yield from ((f"{noun}_id", word) for noun in ("order", "user", "reservation"))
            continue
        for key, value in fields(body):
            if isinstance(value, str):
                yield key, value
