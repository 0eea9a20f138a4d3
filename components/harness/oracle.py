"""The oracle: plays the gold solution, knowing of the world only what the harness showed it.

It holds the task's gold, that is where each value comes from, and never the values: every argument
is derived again from the instruction in the user message and from the answers as they were shown.
To the user of a multi-turn task it writes when all that was said so far is done. It reads its whole
state from the messages, so it can also take over a conversation that another
policy began. If it fails, the harness hid something or the world no longer answers as gold needs.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from components.harness.policy import Message, PolicyReply, PolicyRequest
from components.harness.tools import FINISH, READ_MORE
from components.harness.transcript import TALK, Exchange, read_transcript
from components.records.frozen import FrozenDict, JsonObject
from components.records.task import GoldStep, Provenance, Task
from components.task.provenance import (
    UNSAID,
    ProvenanceError,
    clock_of,
    derive_arguments,
    derive_value,
    observations_of,
)
from components.task.rules import complied, ruled_of
from components.task.user import is_said, moves_heard, opening_of, said_by

ANSWER = "answer"
"""Stands for the `finish` call where a step's name is expected."""
_MAX_TRIES = 2
_MAX_PAGES_AT_ONCE = 6
_GIVE_UP = "I could not complete the task."
_dump = json.JSONEncoder(ensure_ascii=False).encode
Call = tuple[str, Mapping[str, Any]]
"""Policy name of a tool, and arguments."""


class Slips:
    """How a player errs. This one never does.

    Every method is a pure function of its arguments: the player keeps nothing between turns and
    asks again.
    """

    def skips(self, seed: int, step: str) -> bool:
        """Return whether the step is left out."""
        del seed, step
        return False

    def breaks_rule(self, seed: int) -> bool:
        """Return whether all is done as asked, whatever a rule says."""
        del seed
        return False

    def reads(
        self, seed: int, step: str, sources: Iterable[Provenance], observed: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        """Return the answers, by step, that the values of this step are taken from."""
        del seed, step, sources
        return observed

    def gives(
        self,
        seed: int,
        step: str,
        num_errors: int,
        arguments: JsonObject,
        observed: Mapping[str, Any],
        schema: Mapping[str, Any],
    ) -> JsonObject:
        """Return the arguments that are given; `num_errors` tries of this step failed before."""
        del seed, step, num_errors, observed, schema
        return arguments

    def writes(self, seed: int, step: str, num_unread: int, text: str) -> str:
        """Return the message that is written; the last `num_unread` messages could not be read."""
        del seed, step, num_unread
        return text

    def guesses(self, known: JsonObject, schema: Mapping[str, Any]) -> JsonObject | None:
        """Return an answer where part of it cannot be known; None gives up."""
        del known, schema
        return None


@dataclass(slots=True, kw_only=True)
class _Progress:
    """Where the conversation stands."""

    observed: dict[str, Any] = field(default_factory=dict)
    """Data shown whole, by step."""
    known: Mapping[str, Any] = field(default_factory=dict)
    """The same, as an earlier look at the whole conversation found it."""
    settled: dict[str, Exchange] = field(default_factory=dict)
    """Steps that are done or given up."""
    num_errors: Counter[str] = field(default_factory=Counter)
    """Tries that failed, by step."""


class OraclePolicy:
    """Plays gold step by step; serves any number of rollouts of its task."""

    simulated = True

    def __init__(self, task: Task, slips: Slips | None = None, version: str = "oracle-v1") -> None:
        """Args: task with its gold; slips: how it errs; version: recorded with every turn."""
        self.version = version
        self._task = task
        self._slips = slips or Slips()
        self._complied = complied(task)  # as one takes it who does all that is asked
        self._needed = _needed_by(task) | _needed_by(self._complied)
        ruled = ruled_of(task)
        self._rule = "" if ruled is None else ruled[1].text

    async def act(self, request: PolicyRequest) -> PolicyReply:
        """Return the next turn."""
        # A rule is kept only where the harness shows it.
        is_told = not self._rule or self._rule in request.messages[0].content
        is_kept = is_told and not self._slips.breaks_rule(request.seed)
        task = self._task if is_kept else self._complied
        player = _Player(task, sorted(task.gold.items()), self._slips, request)
        return PolicyReply(text=player.text(self._needed))


def _needed_by(task: Task) -> set[str]:
    sources = [source for step in task.gold.values() for source in step.arguments.values()]
    sources += task.answer.values()
    return {place.step for source in sources for place in observations_of(source)}


class _Player:
    """One turn of the oracle."""

    def __init__(
        self,
        task: Task,
        steps: Sequence[tuple[str, GoldStep]],
        slips: Slips,
        request: PolicyRequest,
    ) -> None:
        self._task, self._steps, self._slips, self._seed = task, steps, slips, request.seed
        self._system_text = request.messages[0].content
        self._instruction = shown_words(task, request.messages)
        self._has_more = _has_more(task, request.messages)
        self._schemas = {tool.name: tool.schema for tool in request.tools}
        self._transcript = read_transcript(request.messages, self._schemas)
        # The clock is known only where the harness shows it.
        clock = clock_of(task)
        self._clock = {key: now for key, now in clock.items() if now in self._system_text}
        self._progress = _Progress(observed={**self._clock})
        # Who went another way made calls before gold's own reading showed what is in them. Once
        # that reading is there, everything is read again with it: nothing is done twice.
        for _ in range(len(steps) + 1):
            known = self._progress.observed
            self._progress = _Progress(observed={**self._clock}, known=known)
            found = [self._take_in(item) for item in self._transcript.exchanges]
            if all(found) or set(self._progress.observed) <= set(known):
                break

    def text(self, needed: set[str]) -> str:
        """Return what to write now."""
        pages = self._pages_to_read(needed)
        if pages:
            return write_calls(pages, self._transcript.style)
        for name, step in self._steps:
            if name in self._progress.settled or self._slips.skips(self._seed, name):
                continue
            if not is_said(self._task, name, self._instruction):
                return TALK if self._has_more else _GIVE_UP
            arguments = self._arguments(name, step, self._progress.num_errors[name])
            tool = _policy_name(step)
            if arguments is not None and _is_shown(self._system_text, (tool, *arguments)):
                return self._written(name, (tool, arguments))
        if self._has_more:
            return TALK
        answer = self._answer()
        if answer is None or not _is_shown(self._system_text, (FINISH, ANSWER)):
            return _GIVE_UP
        return self._written(ANSWER, (FINISH, {ANSWER: answer}))

    def _take_in(self, exchange: Exchange) -> bool:
        """Find the step that a call was, and note what its answer showed; False: it was none."""
        progress = self._progress
        if exchange.name == FINISH:
            progress.num_errors[ANSWER] += 1
            return True
        name = self._step_of(exchange)
        if name is None:
            return False
        if exchange.is_error:
            progress.num_errors[name] += 1
            if progress.num_errors[name] < _MAX_TRIES:
                return True
        progress.settled[name] = exchange
        if not exchange.is_error and not exchange.missing_pages:
            progress.observed[name] = exchange.data
        return True

    def _step_of(self, exchange: Exchange) -> str | None:
        is_open_before = False
        for name, step in self._steps:
            if name in self._progress.settled or self._slips.skips(self._seed, name):
                continue
            arguments = self._arguments(name, step, self._progress.num_errors[name])
            # A second reading counts only once everything before it that can be done is done.
            if _policy_name(step) == exchange.name and not (step.revisit_of and is_open_before):
                if exchange.arguments == arguments:
                    return name
                if exchange.arguments == self._arguments(name, step, _MAX_TRIES):
                    return name
                if self._progress.known and exchange.arguments == self._later(step):
                    return name
            is_open_before = is_open_before or arguments is not None
        return None

    def _arguments(self, name: str, step: GoldStep, num_errors: int) -> JsonObject | None:
        """Return the arguments to give; None when one cannot be derived from what was shown."""
        observed = self._slips.reads(
            self._seed, name, step.arguments.values(), self._progress.observed
        )
        try:
            right = derive_arguments(step, self._instruction, observed)
        except ProvenanceError:
            return None
        schema = self._schemas.get(_policy_name(step), FrozenDict())
        return self._slips.gives(
            self._seed, name, num_errors, right, self._progress.observed, schema
        )

    def _later(self, step: GoldStep) -> JsonObject | None:
        """Return the arguments as they come out of everything that was shown up to now."""
        observed = {**self._progress.known, **self._progress.observed}
        try:
            return derive_arguments(step, self._instruction, observed)
        except ProvenanceError:
            return None

    def _answer(self) -> JsonObject | None:
        num_errors = self._progress.num_errors[ANSWER]
        if num_errors >= _MAX_TRIES:
            return None
        observed = self._slips.reads(
            self._seed, ANSWER, self._task.answer.values(), self._progress.observed
        )
        known = {}
        for name, source in sorted(self._task.answer.items()):
            try:
                known[name] = derive_value(source, self._instruction, observed)
            except ProvenanceError:
                continue
        schema = self._task.answer_schema
        if len(known) < len(self._task.answer):
            return self._slips.guesses(FrozenDict(known), schema)
        return self._slips.gives(
            self._seed, ANSWER, num_errors, FrozenDict(known), self._progress.observed, schema
        )

    def _pages_to_read(self, needed: set[str]) -> list[Call]:
        for name, exchange in sorted(self._progress.settled.items()):
            missing = exchange.missing_pages
            is_hopeless = exchange.num_page_calls >= 2 * exchange.total_pages
            if name in needed and missing and not exchange.is_error and not is_hopeless:
                return [
                    (READ_MORE, {"call_id": exchange.call_id, "page": page})
                    for page in missing[:_MAX_PAGES_AT_ONCE]
                ]
        return []

    def _written(self, step: str, call: Call) -> str:
        text = write_calls([call], self._transcript.style)
        return self._slips.writes(self._seed, step, self._transcript.num_unread, text)


def shown_words(task: Task, messages: Sequence[Message]) -> str:
    """Return as much of the instruction as the user's messages show; of what a user has not said
    yet, `UNSAID`.
    """
    opening = shown_instruction(opening_of(task), messages)
    if task.user is None:
        return opening
    said = said_by(task, _heard(task, messages))
    return opening + UNSAID * (task.user.opening - len(opening)) + said[task.user.opening :]


def _heard(task: Task, messages: Sequence[Message]) -> list[str]:
    return moves_heard(task, [item.content for item in messages if item.role == "user"][1:])


def _has_more(task: Task, messages: Sequence[Message]) -> bool:
    """Return whether a message to the user may lead to more: each brings one move, if any."""
    num_moves = 0 if task.user is None else len(task.user.moves)
    num_written = sum(item.content == TALK for item in messages)
    return len(_heard(task, messages)) < num_moves > num_written


def shown_instruction(instruction: str, messages: Sequence[Message]) -> str:
    """Return as much of the instruction, from its start, as the user message shows."""
    text = next((item.content for item in messages if item.role == "user"), "")
    if instruction in text:
        return instruction
    low, high = 0, len(instruction)
    while low < high:  # the longest prefix that is there
        middle = (low + high + 1) // 2
        low, high = (middle, high) if instruction[:middle] in text else (low, middle - 1)
    return instruction[:low]


def write_calls(calls: Sequence[Call], style: str) -> str:
    """Write calls as a policy would, in one of the four formats."""
    bodies = [{"name": name, "arguments": arguments} for name, arguments in calls]
    if style == "openai":
        wrapped = [
            {
                "id": f"call_{number}",
                "type": "function",
                "function": {"name": body["name"], "arguments": _dump(body["arguments"])},
            }
            for number, body in enumerate(bodies, 1)
        ]
        return _dump({"role": "assistant", "content": "", "tool_calls": wrapped})
    texts = [_dump(body) for body in bodies]
    if style == "json_block":
        return "\n".join(f"```json\n{text}\n```" for text in texts)
    if style == "bare_json":
        return "\n".join(texts)
    return "\n".join(f"<tool_call>{text}</tool_call>" for text in texts)


def _policy_name(step: GoldStep) -> str:
    return f"{step.service}__{step.tool}"


def _is_shown(text: str, names: Iterable[str]) -> bool:
    words = _words(text)
    return all(name in words or (_WORD.fullmatch(name) is None and name in text) for name in names)


_WORD = re.compile(r"[A-Za-z0-9_.-]*[A-Za-z0-9_-]")


@lru_cache(maxsize=256)
def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text))
