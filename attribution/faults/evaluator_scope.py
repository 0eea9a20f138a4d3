"""Kinds of fault of the evaluator: a rubric asks for too little or too much, or counts wrongly."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from attribution.change import Change
from attribution.evidence import pointer_of
from attribution.faults.kinds import Clean, change_of
from attribution.faults.rubric_parts import Judged, judged, kind

_NEXT_TO_NOTHING = 1e-13
"""A weight that no sum of weights shows."""


def _without(item: Judged, names: Sequence[str], reason: str) -> Change:
    return item.change(
        [("remove", pointer_of("criteria", name), None) for name in names],
        ("criteria", names[0]),
        reason,
    )


def _missing(clean: Clean) -> Iterator[Change]:
    for item in judged(clean):
        for name, criterion in item.row_criteria():
            steps: list[tuple[str, str, object]] = [("remove", pointer_of("criteria", name), None)]
            for watch, watched in item.untouched():
                key = f"{criterion.service}/{criterion.table}/"
                key += str(next(iter(criterion.where.values()), ""))
                if key in watched.allowed:
                    steps.append(("replace", pointer_of("criteria", watch, "allowed", key), ["*"]))
            yield item.change(steps, ("criteria", name), f"nothing looks at {name}")


def _state_only(clean: Clean) -> Iterator[Change]:
    for item in judged(clean):
        names = [name for name, _criterion in item.answers()]
        if names:
            yield _without(item, names, "nothing looks at the answer")


def _answer_only(clean: Clean) -> Iterator[Change]:
    for item in judged(clean):
        answers = {name for name, _criterion in item.answers()}
        names = sorted(set(item.rubric.criteria) - answers)
        if answers and names:
            yield _without(item, names, "nothing looks at the state")


def _answer_not_asked(clean: Clean) -> Iterator[Change]:
    for item in judged(clean):
        names = [name for name, _criterion in item.answers()]
        if len(names) > 1:
            yield _without(item, [clean.rng.choice(names)], "one field of the answer is not known")


def _unwatched(clean: Clean) -> Iterator[Change]:
    for item in judged(clean):
        for name, _criterion in item.untouched():
            yield _without(item, [name], "nothing looks at what else changed")


def _narrow(clean: Clean) -> Iterator[Change]:
    for item in judged(clean):
        for name, criterion in item.untouched():
            keys = sorted(criterion.allowed)
            clean.rng.shuffle(keys)
            for key in keys:
                at = ("criteria", name, "allowed", key)
                yield item.change(
                    [("remove", pointer_of(*at), None)], at, f"{key} may not change any more"
                )


def _field_forbidden(clean: Clean) -> Iterator[Change]:
    for item in judged(clean):
        for name, criterion in item.untouched():
            for key, fields in sorted(criterion.allowed.items()):
                known = item.parts.entity(*key.split("/")[:2]).fields
                needed = [
                    field for field in fields if field in known and not known[field].generated
                ]
                if not needed or len(fields) == 1:
                    continue
                drawn = clean.rng.choice(needed)
                at = ("criteria", name, "allowed", key)
                yield item.change(
                    [("replace", pointer_of(*at), [field for field in fields if field != drawn])],
                    at,
                    f"the {drawn} of {key} may not change any more",
                )


def _any_row_allowed(clean: Clean) -> Iterator[Change]:
    for item in judged(clean):
        for name, _criterion in item.untouched():
            world = item.parts.task.world
            rows = item.parts.rows(*world.services, *world.distractors)
            at = ("criteria", name, "allowed")
            yield item.change(
                [("replace", pointer_of(*at), {row.key: ["*"] for row in rows})],
                at,
                "any row of the world may change",
            )


def _more_new(clean: Clean) -> Iterator[Change]:
    for item in judged(clean):
        for name, criterion in item.untouched():
            for table in sorted(criterion.max_new):
                at = ("criteria", name, "max_new", table)
                yield item.change(
                    [("replace", pointer_of(*at), 99)], at, f"any number of {table} may be new"
                )


def _no_new(clean: Clean) -> Iterator[Change]:
    for item in judged(clean):
        for name, criterion in item.untouched():
            for table in sorted(criterion.max_new):
                at = ("criteria", name, "max_new", table)
                yield item.change([("remove", pointer_of(*at), None)], at, f"no {table} may be new")


def _extra(clean: Clean) -> Iterator[Change]:
    yield from _demanded(clean, lambda item: item.parts.task.world.services, "nobody asked for")


def _foreign(clean: Clean) -> Iterator[Change]:
    yield from _demanded(
        clean, lambda item: item.parts.task.world.distractors, "the task has no need of"
    )


def _demanded(clean: Clean, where: Any, why: str) -> Iterator[Change]:
    """Yield rubrics that want an untouched row to have another choice in a field."""
    for item in judged(clean):
        services: Iterable[str] = where(item)
        touched = {f"{criterion.service}/{criterion.table}" for _name, criterion in item.rows()}
        found = []
        for row in item.parts.rows(*services) if services else ():
            for field, known in sorted(item.parts.entity(row.service, row.table).fields.items()):
                others = [choice for choice in known.enum or () if choice != row.values[field]]
                if others and f"{row.service}/{row.table}" not in touched:
                    found.append((row, field, others[-1]))
        if not found:
            continue
        row, field, value = clean.rng.choice(found)
        name = f"row:{row.service}.{row.table}:{row.row_id}"
        key = item.parts.entity(row.service, row.table).key
        body = {
            "kind": "row_fields",
            "text": f"The {row.table} has {field} {value}.",
            "service": row.service,
            "table": row.table,
            "where": {key: row.row_id},
            "fields": {field: value},
        }
        yield item.change(
            [("add", pointer_of("criteria", name), body)],
            ("criteria", name),
            f"{name} wants {field} {value}, which {why}",
        )


def _contradicting(clean: Clean) -> Iterator[Change]:
    for item in judged(clean):
        for value in item.wanted():
            if isinstance(value.value, str):
                body = item.body(value.name)
                inner = body
                for key in value.at[:-1]:
                    inner = inner[key]
                inner[value.at[-1]] = f"{value.value} (old)"
                name = f"{value.name}:copy"
                yield item.change(
                    [("add", pointer_of("criteria", name), body)],
                    ("criteria", name),
                    f"{name} wants another value than {value.name}",
                )
                break


def _light(clean: Clean) -> Iterator[Change]:
    for item in judged(clean):
        for name in sorted(item.rubric.criteria):
            yield item.set(name, ("weight",), _NEXT_TO_NOTHING, "weighs next to nothing")


def _answer_key(clean: Clean) -> Iterator[Change]:
    for item in judged(clean):
        for name, criterion in item.answers():
            new = clean.rng.choice((f"{criterion.field}_value", "answer", "result"))
            yield item.set(name, ("field",), new, f"looks at the answer's {new}")


def _settings(path: str, values: Sequence[Any], what: str) -> Any:
    def places(clean: Clean) -> Iterator[Change]:
        for value in clean.rng.sample(list(values), len(values)):
            yield change_of(
                "settings",
                [("replace", f"/{path}", value)],
                tuple(path.split("/")),
                f"{what} {value}",
            )

    return places


KINDS = (
    kind("missing_criterion", "Nothing looks at a row that was to be written.", _missing),
    kind("state_only", "Nothing looks at the answer.", _state_only),
    kind("answer_only", "Nothing looks at the state.", _answer_only),
    kind(
        "answer_not_asked",
        "A rubric does not know a field that the answer must have.",
        _answer_not_asked,
    ),
    kind("nothing_watched", "Nothing looks at what else changed.", _unwatched),
    kind("allowed_too_narrow", "A row that must change may not.", _narrow),
    kind("field_forbidden", "A field that must change may not.", _field_forbidden),
    kind("any_row_allowed", "Every row that was there may change.", _any_row_allowed),
    kind("any_number_new", "Any number of rows may be new.", _more_new),
    kind("nothing_new_allowed", "No row may be new where one must be.", _no_new),
    kind("extra_criterion", "A criterion wants a write that nobody asked for.", _extra),
    kind(
        "distractor_criterion",
        "A criterion wants a write in a service that is not needed.",
        _foreign,
    ),
    kind("contradicting_copy", "Two criteria want different values of one thing.", _contradicting),
    kind(
        "weightless",
        "A criterion weighs next to nothing, so that missing it costs nothing.",
        _light,
    ),
    kind("answer_key", "A criterion looks at the answer under another name.", _answer_key),
    kind(
        "wide_tolerance",
        "Numbers count as equal that are far apart.",
        _settings("equivalence/number_tolerance", (1, 5, 100, 1000000), "numbers may differ by"),
    ),
    kind(
        "low_threshold",
        "A pass needs only a part of the criteria.",
        _settings("pass_threshold", (0.5, 0.6, 0.75, 0.8), "a pass needs a share of"),
    ),
)
