"""What tools are about, held against the table that their words speak of most.

Part of the documentation gate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from components.environment.gates.probe import Prober
from components.environment.gates.promises import GATE, READS, Family, Promise, words
from components.environment.names import singular, tokens
from components.records.frozen import FrozenDict

_PLAINLY, _MORE = 3.0, 2.0
"""Weight at which words plainly speak of a table, and how much more than of another."""


def judge_subjects(
    prober: Prober, promises: Mapping[str, Promise], touched: Mapping[str, frozenset[str]]
) -> None:
    """A tool is about the table that its words speak of most, where they plainly speak of one."""
    heads = Counter(promise.head for promise in promises.values() if promise.head)
    for name, tables in sorted(touched.items()):
        promise = promises[name]
        if not tables or name in prober.failed():
            continue
        if prober.spec.tools[name].lists_output:
            continue  # it says itself what it shows
        scores = {table: _spoken_of(promise, table) for table in prober.tables}
        own = max(scores[table] for table in tables)
        best = max(sorted(scores), key=lambda table: scores[table])
        is_other = scores[best] >= _PLAINLY and scores[best] >= own + _MORE
        is_other = is_other and not any(promise.head in _names(table) for table in tables)
        if promise.family in (Family.ADD, Family.REMOVE):  # a list of the record may hold it
            columns = {name for table in tables for name in prober.shape(table)[1]}
            is_other = is_other and promise.head not in {_names(name)[-1] for name in columns}
            texts = words("texts")  # a text that is added to is its record's
            is_other &= texts.isdisjoint(promise.named) or texts.isdisjoint(columns)
        is_on_cells = not words("cells").isdisjoint(promise.named)
        if is_on_cells and any(_names(table)[-1] in words("sheets") for table in tables):
            continue  # cells have no record of their own: their sheet holds them
        # A table that its words never mention, although other tools are called by it.
        is_foreign = own == 0 and all(heads.get(_names(table)[-1]) for table in tables)
        if (is_other or (is_foreign and promise.is_plain)) and not (
            promise.family is Family.MAKE and _takes_in(tables, promise, promises)
        ):
            expected = f"something about {best if is_other else promise.head}"
            came = f"it is about {', '.join(sorted(tables))}"
            prober.fail(name, GATE, "it is about what it names", FrozenDict(), expected, came)
    _judge_siblings(prober, promises, touched)


def _takes_in(tables: frozenset[str], promise: Promise, promises: Mapping[str, Promise]) -> bool:
    """True where what is made goes into a table of a general name (`node`) and no tool shows what
    the words name (`create_rectangle`).
    """
    is_shown = any(item.family in READS and item.head == promise.head for item in promises.values())
    return not is_shown and all(table in words("general") for table in tables)


def _names(table: str) -> tuple[str, ...]:
    return tuple(singular(part) for part in tokens(table)) or ("",)


def _spoken_of(promise: Promise, table: str) -> float:
    """Weigh how much a tool's words speak of a table: as what they are about, or in passing."""
    names = _names(table)
    last, whole = names[-1], set(names)
    score = 0.0
    if last in promise.named:
        score += 3 if last == promise.head else 2
        score += len(whole) > 1 and whole <= promise.named
    elif whole & promise.named:
        score += 1
    if last in promise.object:
        score += 2 if last == promise.object[-1] else 1.5
    elif last in promise.sentence:
        score += 1
    elif whole & promise.sentence:
        score += 0.5
    return score or (0.5 if whole & promise.spoken else 0.0)


def _judge_siblings(
    prober: Prober, promises: Mapping[str, Promise], touched: Mapping[str, frozenset[str]]
) -> None:
    """Tools with one noun share a table; one that shares none with all the others stands out."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for name, tables in sorted(touched.items()):
        if tables and promises[name].nouns:
            groups.setdefault(promises[name].nouns, []).append(name)
    for nouns, names in sorted(groups.items()):
        if len(names) < 3:
            continue
        votes = Counter(table for name in names for table in touched[name])
        table, count = votes.most_common(1)[0]
        if count < 2 or count * 2 <= len(names):
            continue
        for name in names:
            if table not in touched[name] and not promises[name].named >= set(
                _names(sorted(touched[name])[0])
            ):
                prober.fail(
                    name, GATE, "tools of one noun share a table", FrozenDict(),
                    f"something about {table}, like others on {' '.join(nouns)}",
                    f"it is about {', '.join(sorted(touched[name]))}",
                )  # fmt: skip
