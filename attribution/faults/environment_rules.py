"""Faults of what tools refuse, and how."""

from __future__ import annotations

from collections.abc import Iterator

from attribution.change import Change
from attribution.faults.environment_order import first_states, tools
from attribution.faults.environment_places import ToolPlace, kind
from attribution.faults.kinds import Clean, When
from components.records.blueprint import Check, FunctionalClass
from components.records.calls import ErrorCode
from components.records.frozen import thaw


def _checks(clean: Clean) -> Iterator[tuple[ToolPlace, str, Check]]:
    for at in tools(clean):
        names = sorted(at.body.checks)
        clean.rng.shuffle(names)
        for name in names:
            yield at, name, at.body.checks[name]


def _needless_rule(clean: Clean) -> Iterator[Change]:
    met = first_states(clean)
    for at in tools(clean, FunctionalClass.WRITE):
        for lookup, found in sorted(at.body.lookups.items()):
            if (at.service, found.table) in met and not found.optional:
                field, value = met[at.service, found.table]
                check = {
                    "holds": {"@ne": [f"${lookup}.{field}", value]},
                    "message": f"This is not possible for {value}.",
                }
                name = f"not_{field}"
                operation = at.put(check, "checks", name)
                why = f"it refuses a {found.table} whose {field} is {value!r}"
                yield at.change([operation], ("checks", name), why)


def _inverted_rule(clean: Clean) -> Iterator[Change]:
    for at, name, check in _checks(clean):
        path = ("checks", name, "holds")
        operation = at.put({"@not": thaw(check.holds)}, *path)
        yield at.change([operation], path, f"the rule {name} is turned round")


def _missing_rule(clean: Clean) -> Iterator[Change]:
    for at, name, _check in _checks(clean):
        operation = ("remove", at.at("checks", name), None)
        yield at.change([operation], ("checks", name), f"the rule {name} is not kept")


def _wrong_error_code(clean: Clean) -> Iterator[Change]:
    codes = [ErrorCode.PRECONDITION_FAILED, ErrorCode.CONFLICT, ErrorCode.NOT_FOUND]
    for at, name, check in _checks(clean):
        other = clean.rng.choice([code for code in codes if code is not check.code])
        path = ("checks", name, "code")
        operation = at.put(other.value, *path)
        yield at.change([operation], path, f"a breach of {name} is answered with {other.value}")


def _refusal_told_as_success(clean: Clean) -> Iterator[Change]:
    for at, name, check in _checks(clean):
        others = [effect for effect in sorted(at.body.effects) if f"${effect}" not in str(at.body)]
        if others and len(others) == len(at.body.effects):
            operations = [("remove", at.at("checks", name), None)]
            for effect in others:
                when = {"@and": [thaw(check.holds), thaw(at.body.effects[effect].when)]}
                operations.append(at.put(when, "effects", effect, "when"))
            why = f"a breach of {name} changes nothing and is answered with success"
            yield at.change(operations, ("checks", name), why)


def _missing_row_accepted(clean: Clean) -> Iterator[Change]:
    for at in tools(clean):
        for lookup, found in sorted(at.body.lookups.items()):
            if not found.optional:
                path = ("lookups", lookup, "optional")
                operation = at.put(True, *path)
                why = f"a {found.table} that does not exist is taken for one that does"
                yield at.change([operation], path, why)


KINDS = (
    kind(
        "needless_rule",
        "A tool refuses rows in a state for which nothing forbids the call.",
        _needless_rule,
    ),
    kind(
        "inverted_rule",
        "A tool refuses what is allowed and does what is forbidden.",
        _inverted_rule,
    ),
    kind("missing_rule", "A tool does what a rule forbids.", _missing_rule, When.BEFORE),
    kind(
        "wrong_error_code",
        "A refusal carries another error code than the documentation says.",
        _wrong_error_code,
        When.BEFORE,
    ),
    kind(
        "refusal_told_as_success",
        "A forbidden call changes nothing and is answered with success.",
        _refusal_told_as_success,
        When.BEFORE,
    ),
    kind(
        "missing_row_accepted",
        "A call that names a row that does not exist is answered with success.",
        _missing_row_accepted,
        When.BEFORE,
    ),
)
