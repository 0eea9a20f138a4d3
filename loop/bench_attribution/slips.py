"""The slips of the benchmark's policy: those of the scripted policy, and one more.

It does a step, and then does it again in the same message: the very same call, or one with another
value, which hits a row that was not meant. Without it no rollout does all that is asked and then
too much, and a rubric that does not look at the rest could not be told from one that does.

Beside the policy that slips by chance there is one that slips once, at a step and in a way that are
given: a rubric that asks too little shows in those alone that err in just that way.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from typing import Any

from components.harness.oracle import ANSWER, OraclePolicy, write_calls
from components.records.base import hash_record
from components.records.frozen import JsonObject, thaw
from components.records.task import Task
from loop.policy.config import ErrorRates
from loop.policy.scripted import SeededSlips, others_like

REPEAT_RATE = 0.04
"""Chance that a step is done twice."""
_REPEAT = "repeat_step"
_WAYS = ("wrong_argument", "skip_step", _REPEAT)
_OPEN, _CLOSE = "<tool_call>", "</tool_call>"


class BenchSlips(SeededSlips):
    """The scripted policy's error model, and steps that are done twice."""

    def __init__(self, task: Task, rates: ErrorRates, seed: int) -> None:
        """Args: task, whose steps slips are drawn for; rates, each at every step; seed."""
        super().__init__(task, rates, seed)
        self._start = f"{seed}:{task.task_id}"
        self._seen: Mapping[str, Any] = {}
        self._schema: Mapping[str, Any] = {}

    def gives(
        self,
        seed: int,
        step: str,
        num_errors: int,
        arguments: JsonObject,
        observed: Mapping[str, Any],
        schema: Mapping[str, Any],
    ) -> JsonObject:
        """Return the arguments that are given, and keep what was seen for the same message."""
        self._seen, self._schema = observed, schema
        return super().gives(seed, step, num_errors, arguments, observed, schema)

    def writes(self, seed: int, step: str, num_unread: int, text: str) -> str:
        """Return the message, sometimes with the call once more."""
        written = super().writes(seed, step, num_unread, text)
        is_one = written.startswith(_OPEN) and written.endswith(_CLOSE)
        if written != text or not is_one or not self._is_drawn(_REPEAT, REPEAT_RATE, seed, step):
            return written
        rng = random.Random(f"{self._start}:{seed}:{step}:again")
        body = json.loads(written[len(_OPEN) : -len(_CLOSE)])
        arguments = self._again(body["arguments"], rng)
        return written + "\n" + write_calls([(body["name"], arguments)], "hermes")

    def _again(self, arguments: dict[str, Any], rng: random.Random) -> dict[str, Any]:
        """Return the same arguments, or half the time with one of them for another row."""
        if rng.random() < 0.5:
            return arguments
        properties = self._schema.get("properties") or {}
        names = [name for name in sorted(arguments) if name.endswith("_id")] or sorted(arguments)
        rng.shuffle(names)
        for name in names:
            others = others_like(arguments[name], properties.get(name), self._seen)
            if others:
                return {**arguments, name: thaw(rng.choice(others))}
        return arguments


class OneSlip(BenchSlips):
    """Errs once, and nowhere else."""

    def __init__(self, task: Task, way: str, step: str, seed: int) -> None:
        """Args: task; way, the kind of slip; step, where; seed, of which value it takes."""
        super().__init__(task, ErrorRates.model_validate(dict.fromkeys(_RATES, 1.0)), seed)
        self._way, self._step = way, step

    def _is_drawn(self, kind: str, rate: float, seed: int, step: str) -> bool:
        del rate, seed
        return (kind, step) == (self._way, self._step)


_RATES = ("skip_step", "stale_value", "wrong_argument", "malformed_call")


def bench_policy(task: Task, rates: ErrorRates, seed: int) -> OraclePolicy:
    """Return the policy that the benchmark plays."""
    slips = BenchSlips(task, rates, seed)
    return OraclePolicy(task, slips, f"scripted-twice-v1:{hash_record(rates)[:12]}")


def one_slip_policies(task: Task, seed: int) -> Iterator[OraclePolicy]:
    """Yield a policy for each step and each way to err there; the answer is a step too."""
    for step in (*sorted(task.gold), ANSWER):
        for way in _WAYS:
            yield OraclePolicy(task, OneSlip(task, way, step, seed), f"one-slip-v1:{step}:{way}")
