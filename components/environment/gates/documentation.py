"""Documentation gate: what a tool does, held against what its own words promise.

Owns the tests of promises (see `promises.py`). They come from name, description and schema by a
second reading that shares nothing with the compiler, and they look at behaviour alone: at answers,
at rows before and after. Where the words are ambiguous nothing is expected.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from components.environment.gates.probe import GATE_NOW, Prober, Seen, absent_value, dicts_in
from components.environment.gates.promises import (
    GATE,
    READS,
    WRITES,
    Family,
    Promise,
    read_promises,
    scalar_kind,
    words,
)
from components.environment.gates.subjects import judge_subjects
from components.environment.gates.variants import Variants, is_documented
from components.environment.names import snake, tokens
from components.environment.state import Table
from components.records.calls import RowChange
from components.records.frozen import FrozenDict, JsonObject, canonical_json, texts_in

_CALLS = 12
"""Well-meant calls that a promise is held against."""
_MOST_TABLES = 8
"""Tables that are emptied in turn to see what a read is about."""
_OTHERS = 4
"""Other values of an argument that an answer must depend on."""
_NONSENSE = "zqxjkvw"

Answered = list[tuple[JsonObject, Seen]]


def run_documentation(
    prober: Prober,
    variants: Mapping[str, list[JsonObject]],
    apart: frozenset[str] = frozenset(),
) -> None:
    """Hold every offered tool against its words.

    Args:
        apart: tools that are about no record: pure functions, and those that are only simulated.
        variants: arguments that were drawn before, by tool; nothing is expected because of them.
    """
    promises = read_promises(prober.spec)
    touched: dict[str, frozenset[str]] = {}
    for name in prober.tools:
        tool, promise = prober.spec.tools[name], promises[name]
        if is_documented(tool) or name in apart:
            continue  # its written rules, effects and returns are tested one by one
        arguments = [*variants.get(name, ())] or Variants(prober, tool, {}).all()
        calls = [(item, prober.call(name, item)) for item in arguments[: 2 * _CALLS]]
        answered = [(item, seen) for item, seen in calls if seen.is_ok][:_CALLS]
        if not answered:
            continue
        touched[name] = _touched(prober, name, answered)
        if not touched[name] and promise.family not in WRITES:
            continue  # it depends on its arguments alone
        if promise.family in READS:
            _judge_read(prober, promise, answered)
        elif promise.family in WRITES:
            _judge_write(prober, promise, answered)
        for key in promise.keys:
            _judge_key(prober, promise, key, answered)
        if not any(seen.changes for _, seen in answered):
            for key in promise.dependent:
                _judge_dependence(prober, promise, key, answered)
        _judge_limit(prober, name, answered)
    judge_subjects(prober, promises, touched)


def own_changes(seen: Seen) -> list[RowChange]:
    """Return what a tool itself changed, without reactions."""
    return [change for change in seen.changes if change.cause.startswith("effect:")]


def _touched(prober: Prober, name: str, answered: Answered) -> frozenset[str]:
    """Return the tables that a tool is about: those that it writes, or without whose rows its
    answers are others.
    """
    written = {change.table for _, seen in answered for change in own_changes(seen)}
    if written:
        return frozenset(written)
    found = set()
    arguments, seen = answered[0]
    for table in prober.tables[:_MOST_TABLES]:
        service = prober.spec.service
        other = prober.call(name, arguments, prober.initial.with_table(service, table, Table()))
        if other.envelope != seen.envelope:
            found.add(table)
    return frozenset(found)


def _fail(
    prober: Prober, promise: Promise, rule: str, arguments: JsonObject, expected: str, came: str
) -> None:
    prober.fail(promise.tool, GATE, rule, arguments, expected, came)


def _judge_read(prober: Prober, promise: Promise, answered: Answered) -> None:
    for arguments, seen in answered:
        if seen.changes:
            expected = f"no change: its words say that it is to {promise.family.value}"
            _fail(prober, promise, "a read reads", arguments, expected, seen.told())
            return
    first, shown = answered[0]
    lengths = [_longest_list(seen.data) for _, seen in answered]
    is_list = promise.family in (Family.LIST, Family.SEARCH) and promise.is_many
    if is_list and max(lengths) < 0:
        expected = f"a list of {promise.head or 'records'}"
        _fail(prober, promise, "a list holds several", first, expected, shown.told())
    if promise.is_one and not promise.is_mixed and max(lengths) > 1:
        several = [item for item in answered if _num_records(item[1].data) > 1]
        if several:
            arguments, seen = several[0]
            expected = f"one {promise.head or 'record'}"
            _fail(prober, promise, "one is shown", arguments, expected, seen.told())
    if promise.family is not Family.READ or promise.is_many:
        _judge_search(prober, promise, answered)


def _longest_list(data: Any) -> int:
    """Return the length of the longest list at the top of an answer; -1 where it has none."""
    parts = data.values() if isinstance(data, Mapping) else (data,)
    return max((len(part) for part in parts if isinstance(part, (list, tuple))), default=-1)


def _num_records(data: Any) -> int:
    """Return the number of objects in the one list beside which an answer shows no object."""
    parts = list(data.values()) if isinstance(data, Mapping) else [data]
    lists = [part for part in parts if isinstance(part, (list, tuple))]
    if len(lists) != 1 or any(isinstance(part, Mapping) for part in parts):
        return 0
    return len([item for item in lists[0] if isinstance(item, Mapping)])


def _judge_search(prober: Prober, promise: Promise, answered: Answered) -> None:
    """Nonsense finds less than nothing in particular, and a word that is shown finds its record."""
    tool = prober.spec.tools[promise.tool]
    properties = tool.input_schema.get("properties") or {}
    named = [name for name in properties if snake(name) in words("query_words")]
    if len(named) != 1 or scalar_kind(properties[named[0]]) != "string":
        return
    query = named[0]
    base = {name: value for name, value in answered[0][0].items() if name in _required(tool)}
    nonsense = FrozenDict({**base, query: _NONSENSE})
    if not prober.is_valid(promise.tool, nonsense):
        return
    shown = [item for item in answered if _longest_list(item[1].data) > 0]
    told = _words_shown([seen for _, seen in shown])
    found = prober.call(promise.tool, nonsense)
    if told and found.is_ok and _longest_list(found.data) > 0:
        _fail(prober, promise, "nonsense is not found", nonsense, "no record", found.told())
        return
    for arguments, seen in shown[:3]:
        if {snake(name) for name in arguments} & _passing_over():
            continue
        for word in _words_shown([seen])[:2]:
            asked = FrozenDict({**arguments, query: word})
            again = prober.call(promise.tool, asked)
            if not again.is_ok or _longest_list(again.data) < 1:
                expected, rule = f"the record that holds {word!r}", "a word that is shown is found"
                _fail(prober, promise, rule, asked, expected, again.told())
                return


def _passing_over() -> frozenset[str]:
    return words("offset_words") | words("page_words") | words("cursor_words")


def _words_shown(answers: list[Seen]) -> list[str]:
    found: dict[str, None] = {}
    for seen in answers:
        for item in list(dicts_in(seen.data))[1:4]:
            for name, value in sorted(item.items()):
                is_prose = isinstance(value, str) and " " in value and not name.endswith("id")
                if is_prose and (plain := [w for w in value.split() if w.isalpha() and len(w) > 2]):
                    found[plain[0]] = None
    return list(found)


def _required(tool: Any) -> frozenset[str]:
    return frozenset(tool.input_schema.get("required") or ())


def _judge_write(prober: Prober, promise: Promise, answered: Answered) -> None:
    """What the verb says happens to rows happens to some, and its opposite to none."""
    writes = [(arguments, seen) for arguments, seen in answered if seen.changes]
    first, seen = writes[0] if writes else answered[0]

    def fail(rule: str, expected: str) -> None:
        _fail(prober, promise, rule, first, expected, seen.told())

    if not writes and not any(arguments for arguments, _ in answered):
        return None  # what takes nothing may have been done already
    if not writes:
        return fail("a write writes", f"a change: its words say that it is to {promise.family}")
    if promise.is_mixed:
        return None  # which of several things it does, its arguments say
    counts = [_counted(own_changes(done)) for _, done in writes]
    match promise.family:
        case Family.MAKE:
            if not any(count["new"] for count in counts):
                return fail("a new record", "one row more")
        case Family.ADD:
            if not any(count["new"] or count["longer"] for count in counts):
                return fail("an addition", "one row more, or a field that holds more")
            if any(count["gone"] for count in counts):
                return fail("an addition", "no row less")
        case Family.PUT:
            if any(count["gone"] for count in counts):
                return fail("something is set", "no row less")
        case Family.DELETE:
            is_in_row = not words("cells").isdisjoint(promise.named)  # their sheet holds them
            if not any(count["gone"] or (is_in_row and count["shorter"]) for count in counts):
                return fail("a record goes", "one row less")
            if any(count["new"] for count in counts):
                return fail("a record goes", "no row more")
        case Family.REMOVE:
            if any(count["new"] for count in counts):
                return fail("something goes", "no row more")
            if not any(count["gone"] or count["shorter"] for count in counts):
                return fail("something goes", "one row less, or a field that holds less")
        case Family.CHANGE | Family.MOVE:
            if any(count["new"] or count["gone"] for count in counts):
                return fail("a record changes", "the same rows, with other values")
            if promise.family is Family.CHANGE:
                _only_what_is_given(prober, promise, writes)
        case _:
            pass
    if promise.family in (Family.MAKE, Family.ADD, Family.CHANGE):
        _holds_what_is_given(prober, promise, writes)
    return None


def _counted(changes: list[RowChange]) -> Counter[str]:
    """Count rows that are new and gone, and fields that hold more or less than before."""
    found: Counter[str] = Counter()
    for change in changes:
        if change.before is None:
            found["new"] += 1
        elif change.after is None:
            found["gone"] += 1
        else:
            for name, value in change.after.items():
                size, old = _size(value), _size(change.before.get(name))
                found["longer"] += size > old
                found["shorter"] += size < old
    return found


def _size(value: Any) -> int:
    if value is None or value is False:
        return 0
    if isinstance(value, tuple) and any(isinstance(row, tuple) for row in value):
        rows = [row for row in value if isinstance(row, tuple)]
        return len(value) + sum(item is not None for row in rows for item in row)
    return len(value) if isinstance(value, (str, tuple, Mapping)) else 1


def _given(arguments: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield name and value of what a caller gave, at any depth."""
    for name, value in arguments.items():
        if isinstance(value, Mapping):
            yield from _given(value)
        elif isinstance(value, (list, tuple)) and any(isinstance(item, Mapping) for item in value):
            for item in value:
                if isinstance(item, Mapping):
                    yield from _given(item)
        else:
            yield name, value


def _holds_what_is_given(prober: Prober, promise: Promise, writes: Answered) -> None:
    """Of the required texts that a write is given, some row holds one afterwards; a copy is given
    the name of what it copies.
    """
    if not words("copies").isdisjoint(tokens(promise.tool)):
        return
    required = _required(prober.spec.tools[promise.tool]) - promise.callers
    asked = False
    for arguments, seen in writes:
        given = {
            value
            for name, value in _given({n: v for n, v in arguments.items() if n in required})
            if isinstance(value, str) and len(value) > 3 and not set(tokens(name)) & words("hidden")
        }
        if not given:
            continue
        asked = True
        held = {text for change in own_changes(seen) for text in texts_in(change.after)}
        if any(text in other for text in given for other in held):
            return
    if asked:
        arguments, seen = writes[0]
        expected = "a row that holds what was given"
        _fail(prober, promise, "what is given is kept", arguments, expected, seen.told())


def _only_what_is_given(prober: Prober, promise: Promise, writes: Answered) -> None:
    """A field that an edit changes gets a value that the caller gave, or the time."""
    for arguments, seen in writes:
        given = [value for _, value in _given(prober.whole(promise.tool, arguments))]
        whole = {canonical_json(value) for value in (*given, *arguments.values(), None, GATE_NOW)}
        texts = [value for value in given if isinstance(value, str) and len(value) > 1]
        for change in own_changes(seen):
            before: JsonObject = change.before or FrozenDict()
            for name, value in (change.after or FrozenDict()).items():
                if value == before.get(name):
                    continue
                if canonical_json(value) in whole or any(
                    text in other for text in texts for other in texts_in(value)
                ):
                    continue
                if isinstance(value, (tuple, Mapping, bool, int, float)):
                    continue  # worked out from what was given: a merged object, a counter
                expected = f"{name} stays {before.get(name)!r}"
                came = f"{name} {value!r}"
                _fail(prober, promise, "only what is given", arguments, expected, came)
                return


def _judge_key(prober: Prober, promise: Promise, key: str, answered: Answered) -> None:
    """A key that names nothing is refused, and two keys give two answers."""
    calls = [(arguments, seen) for arguments, seen in answered if key in arguments]
    if not calls or (promise.family is Family.WRITE and promise.is_mixed):
        return
    arguments, _ = calls[0]
    absent = absent_value(prober, promise.tool, arguments, key)
    if absent is not None:
        changed = FrozenDict({**arguments, key: absent})
        seen = prober.call(promise.tool, changed)
        if seen.is_ok:
            expected = f"an error: {key} names nothing"
            _fail(prober, promise, "an unknown key is refused", changed, expected, seen.told())
            return
    outcomes: dict[bytes, set[bytes]] = {}
    for arguments, seen in calls:
        outcome = _outcome(promise, arguments, seen, key)
        outcomes.setdefault(canonical_json(arguments[key]), set()).add(outcome)
    came = set.union(*outcomes.values()) if len(outcomes) > 1 else set()
    if len(came) == 1 and _tells(next(iter(came))):
        arguments, seen = calls[0]
        expected = f"another {key}, another record"
        _fail(prober, promise, "a key tells records apart", arguments, expected, seen.told())


def _judge_dependence(prober: Prober, promise: Promise, key: str, answered: Answered) -> None:
    """What a read must be told, its answer depends on."""
    calls = [(arguments, seen) for arguments, seen in answered if key in arguments]
    if not calls:
        return
    arguments, seen = calls[0]
    absent = absent_value(prober, promise.tool, arguments, key)
    values = [absent, *(other[key] for other, _ in calls if other[key] != arguments[key])]
    tried = [value for value in values if value is not None][:_OTHERS]
    outcome = b""
    for value in tried:
        changed = FrozenDict({**arguments, key: value})
        other = prober.call(promise.tool, changed)
        both = (arguments[key], value)
        outcome = canonical_json(_without(seen.data, both))
        if not other.is_ok or canonical_json(_without(other.data, both)) != outcome:
            return
    if tried and _tells(outcome):
        expected = f"another answer for another {key}"
        rule = "an answer depends on its arguments"
        _fail(
            prober, promise, rule, FrozenDict({**arguments, key: tried[0]}), expected, seen.told()
        )


def _outcome(promise: Promise, arguments: JsonObject, seen: Seen, key: str) -> bytes:
    """What a call came to, without the key itself."""
    if promise.family not in WRITES:
        return canonical_json(_without(seen.data, (arguments[key],)))
    return canonical_json([[change.table, change.row_id] for change in own_changes(seen)])


def _tells(outcome: bytes) -> bool:
    """True where an outcome holds anything: one that is nothing but the key is no evidence."""
    return any(char in b"0123456789tfn" or char == 34 for char in outcome.split(b":", 1)[-1])


def _without(data: Any, values: tuple[Any, ...]) -> Any:
    """Return an answer without what only repeats what was given."""
    if isinstance(data, Mapping):
        return {name: _without(item, values) for name, item in data.items() if item not in values}
    if isinstance(data, (list, tuple)):
        return [_without(item, values) for item in data if item not in values]
    return data


def _judge_limit(prober: Prober, name: str, answered: Answered) -> None:
    """A limit of one shows one at most."""
    properties = prober.spec.tools[name].input_schema.get("properties") or {}
    limits = [item for item in properties if snake(item) in words("limit_words")]
    longer = [(given, seen) for given, seen in answered if _longest_list(seen.data) > 1]
    if len(limits) != 1 or scalar_kind(properties[limits[0]]) != "integer" or not longer:
        return
    arguments = FrozenDict({**longer[0][0], limits[0]: 1})
    if not prober.is_valid(name, arguments):
        return
    seen = prober.call(name, arguments)
    if seen.is_ok and _longest_list(seen.data) > 1:
        prober.fail(name, GATE, "a limit holds", arguments, "one record at most", seen.told())
