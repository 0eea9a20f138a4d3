"""A real HTTP endpoint on this machine that plays an author's script, and what an author is
given."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from components.environment.author.config import ModelAuthorConfig
from components.records.blueprint import Blueprint, Quarantine, QuarantineReason
from components.records.frozen import FrozenDict
from components.records.spec import ServiceSpec
from tests.environment.sandbox.notes import NO_ROWS, SOURCE, notes_spec
from tests.model.served import FREE, Play, Served
from tests.model.served import serve as serve_answers

TOOLS = ("create_note", "get_note", "list_notes")
GOOD = SOURCE[: SOURCE.index('@tool("close_note"')]
"""The notes service with three tools."""
SEED = NO_ROWS


def small_spec() -> ServiceSpec:
    """The notes spec with three tools."""
    spec = notes_spec()
    return spec.model_copy(update={"tools": FrozenDict({n: spec.tools[n] for n in TOOLS})})


def empty_blueprint() -> Blueprint:
    """A blueprint in which no tool works."""
    unclear = Quarantine(reason=QuarantineReason.UNCLEAR, detail="nothing was inferred")
    return Blueprint(
        service="notes",
        entities=FrozenDict(),
        tools=FrozenDict(),
        quarantined=FrozenDict(dict.fromkeys(TOOLS, unclear)),
    )


def python(code: str, tests: Any = None) -> Play:
    """An answer with a file, and tests where they are given."""
    text = f"Here it is.\n\n```python\n{code}\n```\n"
    return Play(text if tests is None else f"{text}\n```json\n{json.dumps(tests)}\n```\n")


def stage_of(request: dict[str, Any]) -> str:
    """What a request is for, read off its messages."""
    system, prompt = (item["content"] for item in request["messages"])
    if system.startswith("You test"):
        return "adversarial"
    for start, stage in (
        ("Which of them show", "choose"),
        ("Before any code is written", "explore"),
        ("Make it shorter", "simplify"),
        ("What its tests say", "revise"),
    ):
        if start in prompt:
            return stage
    return "write"


Script = Callable[[str, int], Play]
"""Gives the answer to the n-th request (from 0) of a stage."""
ADVERSARIAL = [
    {
        "name": "a note can be read",
        "steps": [
            {"tool": "create_note", "arguments": {"title": "Milk"},
             "holds": {"/note/title": "Milk"}, "keep": {"note": "/note/id"}},
            {"tool": "get_note", "arguments": {"id": "$note"}, "holds": {"/note/id": "$note"}},
        ],
    },
    {
        "name": "no such note",
        "steps": [{"tool": "get_note", "arguments": {"id": "nowhere"}, "expect": "not_found"}],
    },
    {"name": "of another server", "steps": [{"tool": "drop_table"}]},
]  # fmt: skip
"""Two tests that can be made and one that cannot."""


def plays(**stages: list[Play] | Play) -> Script:
    """Return the script that gives each stage its answers, the last over and over."""

    def play(stage: str, place: int) -> Play:
        given = stages.get(stage)
        if given is None:
            defaults = {"adversarial": Play(json.dumps(ADVERSARIAL)), "explore": Play("Notes.")}
            return defaults.get(stage, Play("I would rather not."))
        return given[min(place, len(given) - 1)] if isinstance(given, list) else given

    return play


@dataclass
class ServedAuthor(Served):
    """A running endpoint and what an author asked it."""

    @property
    def stages(self) -> list[str]:
        """What it was asked for, in order."""
        return [stage_of(request) for request in self.requests]

    def prompts(self, stage: str) -> list[str]:
        """The prompts of a stage."""
        return [r["messages"][1]["content"] for r in self.requests if stage_of(r) == stage]


@contextmanager
def serve(script: Script) -> Iterator[ServedAuthor]:
    """Serve a script while the block lasts."""
    counts: dict[str, int] = {}

    def answer(request: dict[str, Any]) -> Play:
        stage = stage_of(request)
        counts[stage] = counts.get(stage, -1) + 1
        return script(stage, counts[stage])

    with serve_answers(answer) as served:
        yield ServedAuthor(served.base_url, served.requests, served.keys)


def author_config(base_url: str = "http://127.0.0.1:9/v1", **changes: Any) -> ModelAuthorConfig:
    """A configuration for tests: free, patient with nobody."""
    values: dict[str, Any] = {
        **FREE, "base_url": base_url, "revisions": 0, "source": None,
        "sandbox": "bubblewrap", "deadline_seconds": 20.0, "record": None, "replay": None,
    }  # fmt: skip
    return ModelAuthorConfig.model_validate({**values, **changes})
