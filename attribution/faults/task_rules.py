"""Kinds of fault in the policy rules that a task tells, where a rule forbids what is asked for.

A rule that is missing, or says something else, leads whoever reads it to do what must not be done.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from attribution.change import Change
from attribution.faults.kinds import Clean, FaultKind
from attribution.faults.task_parts import Parts, parts_of
from components.records.patch import Component
from components.records.task import Ruled
from components.task.rules import ruled_of

_OTHERWISE = (
    (r"^Before\b", lambda _found: "Some time after"),
    (r"\b\d+\b", lambda found: str(10 * int(found[0]))),
    (r"\bonly\b", lambda _found: "also"),
    (r"\b(is|are|was) (not|no)\b", lambda found: f"{found[1]} always"),
    (r"\bno \b", lambda _found: "any "),
    (r"^Nothing\b", lambda _found: "Everything"),
    (r"\bkeeps\b", lambda _found: "need not keep"),
    (r"\bis\b", lambda _found: "need not be"),
)
"""How a sentence comes to say something else; the first that fits is taken."""


def _ruled(clean: Clean) -> Iterator[tuple[Parts, Ruled, int]]:
    """Yield the tasks in which a rule forbids something, with the place of its sentence."""
    for parts in parts_of(clean):
        found = ruled_of(parts.task)
        if found is not None and not found[1].allows:
            rules = parts.task.policy_rules
            if found[1].text in rules:
                yield parts, found[1], rules.index(found[1].text)


def _missing_rule(clean: Clean) -> Iterator[Change]:
    for parts, clause, number in _ruled(clean):
        yield parts.change(
            [("remove", f"/policy_rules/{number}", None)],
            ("policy_rules", str(number)),
            f"the task does not tell the rule {clause.rule}",
        )


def _altered_rule(clean: Clean) -> Iterator[Change]:
    for parts, clause, number in _ruled(clean):
        for pattern, other in _OTHERWISE:
            text = re.sub(pattern, other, clause.text, count=1)
            if text != clause.text:
                yield parts.change(
                    [("replace", f"/policy_rules/{number}", text)],
                    ("policy_rules", str(number)),
                    f"the rule {clause.rule} is told as {text!r}",
                )
                break


KINDS: tuple[FaultKind, ...] = (
    FaultKind(
        name="missing_rule",
        component=Component.TASK,
        statement="A rule that forbids what is asked for is not told.",
        places=_missing_rule,
    ),
    FaultKind(
        name="altered_rule",
        component=Component.TASK,
        statement="A rule that forbids what is asked for is told otherwise.",
        places=_altered_rule,
    ),
)
