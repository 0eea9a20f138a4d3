"""Sentences of a tool's documentation made false: a rule, an effect or a return that is not so.

Each yields the tool's spec with one sentence changed, added or left out. Whether the service ever
breaks it, certified runs say; here nothing is executed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from components.records.frozen import FrozenDict, freeze
from components.records.spec import ToolSpec, WrittenRule

Calls = Sequence[Mapping[str, Any]]
"""Arguments with which certified runs call the tool."""
Sentence = Callable[[ToolSpec, Calls], Iterator[tuple[str, ToolSpec]]]
"""Yields what is wrong, and the tool's spec with it."""


def _rule_turned_round(spec: ToolSpec, _calls: Calls) -> Iterator[tuple[str, ToolSpec]]:
    for name, rule in sorted(spec.rules.items()):
        if rule.requires is not True:
            other = rule.model_copy(update={"requires": freeze({"@not": rule.requires})})
            yield f"the rule {name} is turned round", _with(spec, "rules", name, other)


def _rule_of_one_value(spec: ToolSpec, calls: Calls) -> Iterator[tuple[str, ToolSpec]]:
    """A rule that is false of one call alone: it forbids a value that the service takes."""
    for arguments in calls:
        for key, value in sorted(arguments.items()):
            if isinstance(value, str):
                yield f"a rule forbids {key}={value!r}", forbidding(spec, key, value)


def forbidding(spec: ToolSpec, key: str, value: str) -> ToolSpec:
    """Return the spec with a rule that an argument must not have this value."""
    rule = WrittenRule(
        text=f"`{key}` must not be {value!r}.",
        requires=freeze({"@ne": [f"$args.{key}", {"@lit": value}]}),
    )
    return _with(spec, "rules", "false", rule)


def _effect_of_other_value(spec: ToolSpec, _calls: Calls) -> Iterator[tuple[str, ToolSpec]]:
    for name, effect in sorted(spec.effects.items()):
        values = sorted(effect.fields.items())
        for number, (field, value) in enumerate(values):
            others = [item for _field, item in values[number + 1 :] if item != value]
            other = others[0] if others else "archived"
            fields = FrozenDict({**effect.fields, field: other})
            changed = effect.model_copy(update={"fields": fields})
            words = f"the effect {name} gives {field} another value"
            yield words, _with(spec, "effects", name, changed)


def _effect_left_out(spec: ToolSpec, _calls: Calls) -> Iterator[tuple[str, ToolSpec]]:
    """The documentation says that it is complete, and an effect is not in it."""
    if not spec.complete:
        return
    for name, effect in sorted(spec.effects.items()):
        if effect.action == "update" and len(effect.fields) > 1:
            left = max(effect.fields)
            fields = {key: item for key, item in effect.fields.items() if key != left}
            changed = effect.model_copy(update={"fields": FrozenDict(fields)})
            yield f"{left} is left out of {name}", _with(spec, "effects", name, changed)
        left_out = {key: item for key, item in spec.effects.items() if key != name}
        yield (
            f"the effect {name} is not written",
            spec.model_copy(update={"effects": FrozenDict(left_out)}),
        )


def _return_of_other_rows(spec: ToolSpec, _calls: Calls) -> Iterator[tuple[str, ToolSpec]]:
    for name, written in sorted(spec.returns.items()):
        for label, part in sorted(written.where.items()):
            where = FrozenDict({**written.where, label: freeze({"@not": part})})
            other = written.model_copy(update={"where": where})
            yield f"{name} keeps what {label} leaves out", _with(spec, "returns", name, other)
        if written.row is not None:
            row = written.row.model_copy(update={"equals": "no such row"})
            other = written.model_copy(update={"row": row})
            yield f"{name} shows no row at all", _with(spec, "returns", name, other)


def _with(spec: ToolSpec, part: str, name: str, sentence: object) -> ToolSpec:
    return spec.model_copy(update={part: FrozenDict({**getattr(spec, part), name: sentence})})


FALSE_SENTENCES: dict[str, Sentence] = {
    "rule_turned_round": _rule_turned_round,
    "rule_of_one_value": _rule_of_one_value,
    "effect_of_other_value": _effect_of_other_value,
    "effect_left_out": _effect_left_out,
    "return_of_other_rows": _return_of_other_rows,
}
"""Kind of false sentence -> how it is made."""
