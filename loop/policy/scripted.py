"""The scripted policy: the oracle with seeded slips. A simulation of a model, and marked as one.

Each slip is drawn from (seed, rollout seed, task, step), so the same rollout slips at the same
places in every world: common random numbers. What was drawn is recorded nowhere; attribution sees
only what the policy did.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from components.harness.oracle import OraclePolicy, Slips
from components.records.base import hash_record
from components.records.frozen import FrozenDict, JsonObject, freeze
from components.records.task import Provenance, Task
from components.task.provenance import leaves, observations_of
from loop.policy.config import ErrorRates

RECOVERY_RATE = 0.75
"""How often a slip that was answered with an error is put right at the next try."""
_ID = re.compile(r"([A-Za-z]+[_-])[0-9A-Za-z]+")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


class ScriptedPolicy(OraclePolicy):
    """Plays gold from what it is shown and errs at given rates; serves any number of rollouts."""

    def __init__(self, task: Task, rates: ErrorRates, seed: int) -> None:
        """Args: task: its gold; rates: how often it slips at each step; seed: of all its slips."""
        version = f"scripted-v1:{hash_record(rates)[:12]}"
        super().__init__(task, SeededSlips(task, rates, seed), version)


class SeededSlips(Slips):
    """The error model."""

    def __init__(self, task: Task, rates: ErrorRates, seed: int) -> None:
        """Args: task, whose steps slips are drawn for; rates, each at every step; seed."""
        self._rates = rates
        self._start = f"{seed}:{task.task_id}"
        self._earlier = {
            name: step.revisit_of for name, step in task.gold.items() if step.revisit_of
        }

    def skips(self, seed: int, step: str) -> bool:
        """Leave a step out."""
        return self._is_drawn("skip_step", self._rates.skip_step, seed, step)

    def breaks_rule(self, seed: int) -> bool:
        """Do all that is asked, whatever a rule says; drawn once a rollout."""
        return self._is_drawn("break_rule", self._rates.break_rule, seed, "rule")

    def reads(
        self, seed: int, step: str, sources: Iterable[Provenance], observed: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        """Take the earlier reading for a later one, by slip or because there is no later one."""
        is_stale = self._is_drawn("stale_value", self._rates.stale_value, seed, step)
        changed = dict(observed)
        for place in (place for source in sources for place in observations_of(source)):
            earlier = self._earlier.get(place.step)
            if earlier is None or earlier not in observed:
                continue
            if is_stale or place.step not in observed:
                changed[place.step] = observed[earlier]
        return changed

    def gives(
        self,
        seed: int,
        step: str,
        num_errors: int,
        arguments: JsonObject,
        observed: Mapping[str, Any],
        schema: Mapping[str, Any],
    ) -> JsonObject:
        """Give one argument, or one field of the answer, another value."""
        if not self._is_drawn("wrong_argument", self._rates.wrong_argument, seed, step):
            return arguments
        if num_errors and self._is_drawn("recovers", RECOVERY_RATE, seed, step):
            return arguments
        rng = random.Random(f"{self._start}:{seed}:{step}:alter")
        names = sorted(arguments)
        rng.shuffle(names)
        properties = schema.get("properties") or {}
        for name in names:
            others = others_like(arguments[name], properties.get(name), observed)
            if others:
                return FrozenDict({**arguments, name: freeze(rng.choice(others))})
        return arguments

    def writes(self, seed: int, step: str, num_unread: int, text: str) -> str:
        """Write a call that no parser can read."""
        if not self._is_drawn("malformed_call", self._rates.malformed_call, seed, step):
            return text
        if num_unread and self._is_drawn("recovers", RECOVERY_RATE, seed, step):
            return text
        return garbled(text, random.Random(f"{self._start}:{seed}:{step}:garble").randrange(3))

    def guesses(self, known: JsonObject, schema: Mapping[str, Any]) -> JsonObject | None:
        """Fill what it cannot know with something that fits the schema."""
        properties = schema.get("properties") or {}
        missing = sorted(set(schema.get("required") or ()) - set(known))
        return FrozenDict({**known, **{name: _filler(properties.get(name)) for name in missing}})

    def _is_drawn(self, kind: str, rate: float, seed: int, step: str) -> bool:
        return rate > 0 and _draw(f"{self._start}:{seed}:{step}:{kind}") < rate


def garbled(text: str, way: int) -> str:
    """Return a message that means the same call and that no parser reads.

    Args:
        text: well-formed call.
        way: 0 cut off, 1 without quotes, 2 told in prose.
    """
    if way == 0:
        return text[: text.rindex('"')]
    if way == 1:
        return text.replace('"', "")
    return "Next I call the tool: " + re.sub(r"[^\w\s.@-]+", " ", text).strip()


@lru_cache(maxsize=65536)
def _draw(what: str) -> float:
    return random.Random(what).random()


def others_like(value: Any, schema: Any, observed: Mapping[str, Any]) -> Sequence[Any]:
    """Return plausible wrong values, in a fixed order; none where nothing plausible is at hand."""
    enum = schema.get("enum") if isinstance(schema, Mapping) else None
    if enum:
        return [item for item in enum if item != value and item is not None]
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, (int, float)):
        return [value + 1]
    if isinstance(value, tuple):
        return [value[:-1]] if len(value) > 1 else []
    if not isinstance(value, str) or not value:
        return []
    alike = _alike(value, observed)
    if alike:
        return alike
    if any(character.isdigit() for character in value):
        return [re.sub(r"\d(?=\D*$)", lambda found: str((int(found[0]) + 1) % 10), value)]
    words = value.split()
    return [" ".join(words[:-1])] if len(words) > 1 else [value + "x"]


def _alike(value: str, observed: Mapping[str, Any]) -> list[str]:
    kind = _kind_of(value)
    if kind is None:
        return []
    seen = {leaf for _path, leaf in leaves(dict(observed)) if isinstance(leaf, str)}
    return sorted(leaf for leaf in seen if leaf != value and _kind_of(leaf) == kind)


def _kind_of(text: str) -> str | None:
    """Return what makes two texts exchangeable: an id's prefix, an address, a time."""
    if _TIME.fullmatch(text):
        return "time"
    if "@" in text and " " not in text:
        return "address"
    found = _ID.fullmatch(text)
    return found[1] if found else None


def _filler(schema: Any) -> Any:
    if not isinstance(schema, Mapping):
        return "unknown"
    if schema.get("enum"):
        return schema["enum"][0]
    fillers = {"integer": 0, "number": 0, "boolean": False, "array": (), "object": FrozenDict()}
    kind = schema.get("type")
    return fillers.get(kind, "unknown") if isinstance(kind, str) else "unknown"
