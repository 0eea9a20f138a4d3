"""How the value that a policy rule looks at is compared with its limit: nothing but the comparison.

Owns the one reading of `Relation`. Times are compared as the texts that they are; a value of
another type than the limit keeps no rule.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from components.records.policy import PolicyRule, Relation

_FORMAT = "%Y-%m-%dT%H:%M:%SZ"
_TIMES = (Relation.SINCE, Relation.UNTIL)


def limit_of(rule: PolicyRule, now: str, asker: tuple[str, ...]) -> Any:
    """Return the limit of a rule in a world.

    Args:
        rule: the rule.
        now: the world's clock.
        asker: what the person who asks is called by.
    """
    if rule.relation in _TIMES:
        moment = datetime.strptime(now, _FORMAT) + timedelta(days=int(str(rule.value)))
        return moment.strftime(_FORMAT)
    if rule.relation is Relation.ONE_OF and rule.value is None:
        return asker
    return rule.value


def keeps(relation: Relation, value: Any, limit: Any) -> bool:
    """Return whether a value keeps a rule; null never does."""
    if value is None:
        return False
    match relation:
        case Relation.IS:
            return bool(value == limit)
        case Relation.IS_NOT:
            return bool(value != limit)
        case Relation.ONE_OF:
            return isinstance(limit, (list, tuple)) and value in limit
        case Relation.AT_MOST | Relation.UNTIL:
            return _is_comparable(value, limit) and bool(value <= limit)
        case Relation.AT_LEAST | Relation.SINCE:
            return _is_comparable(value, limit) and bool(value >= limit)


def is_clear(relation: Relation, value: Any, limit: Any) -> bool:
    """Return whether a time is a day or more away from its limit: within a day, whoever counts in
    dates and whoever counts in hours come to different ends. Other values are always clear.
    """
    if relation not in _TIMES or not isinstance(value, str) or not isinstance(limit, str):
        return True
    apart = datetime.strptime(value, _FORMAT) - datetime.strptime(limit, _FORMAT)
    return abs(apart) >= timedelta(days=1)


def asks_who(rule: PolicyRule) -> bool:
    """Return whether a rule asks who the person is for whom the policy acts."""
    return rule.relation is Relation.ONE_OF and rule.value is None


def _is_comparable(value: Any, limit: Any) -> bool:
    numbers = [isinstance(x, (int, float)) and not isinstance(x, bool) for x in (value, limit)]
    return all(numbers) or (isinstance(value, str) and isinstance(limit, str))
