"""A model that authors tasks about leave and tickets, played over HTTP: right, or wrong in one way.

It reads its prompts as a model would: the chain and the answers of tools are taken out of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from components.model.config import ModelBudget
from components.model.records import Request, Tried
from components.task.model_author.config import ModelTaskAuthorConfig
from tests.model.served import FREE, Play

Parts = dict[str, Any]
_LEAVE = "Put whoever has ticket {number} on leave until {until}"
_NAME = "tell me the name of the person it is assigned to after that"
REQUEST = f"Hi! {_LEAVE} please. Then {_NAME}."


def author_config(base_url: str = "http://127.0.0.1:9/v1", **changes: Any) -> ModelTaskAuthorConfig:
    """A configuration for tests: one revision, few calls."""
    values: Parts = {
        **FREE, "base_url": base_url, "revisions": 1, "explore_calls": 6, "probe_calls": 8,
        "replay": None, "budget": ModelBudget(tokens=10_000_000, usd=0.0), **changes,
    }  # fmt: skip
    return ModelTaskAuthorConfig.model_validate(values)


def block(body: Any) -> Play:
    """An answer with one block of JSON."""
    return Play(f"Here it is.\n```json\n{json.dumps(body)}\n```")


def prompt_of(request: Parts) -> str:
    """What the model is asked."""
    return str(request["messages"][1]["content"])


def stage_of(request: Parts) -> str:
    """What a request is for, read off its messages."""
    system, prompt = (item["content"] for item in request["messages"])
    if system.startswith("You do what"):
        return "probe"
    if "Design one task" in prompt:
        return "revise" if "It was refused:" in prompt else "design"
    return "explore"


def seen_in(prompt: str) -> list[tuple[Parts, Parts]]:
    """The calls of a prompt and their answers."""
    lines = prompt.splitlines()
    return [
        (json.loads(lines[number - 1]), json.loads(line[3:]))
        for number, line in enumerate(lines)
        if line.startswith("-> ")
    ]


def datas(prompt: str) -> list[Parts]:
    """What accepted calls have answered."""
    return [answer["data"] for _call, answer in seen_in(prompt) if answer["ok"]]


def chain_of(prompt: str) -> list[Parts]:
    """The chain of calls that a prompt shows."""
    return [json.loads(text) for text in re.findall(r"^\d+\. (\{.*\})$", prompt, re.M)]


def call(service: str, tool: str, **arguments: Any) -> Parts:
    """One call."""
    return {"service": service, "tool": tool, "arguments": arguments}


def good_design(prompt: str, then: Parts | None = None) -> Parts:
    """A right design of what a prompt shows; `then` shows who has the ticket in the end."""
    chain = {item["tool"]: item["arguments"] for item in chain_of(prompt)}
    number = chain["get_ticket_by_number"]["number"]
    until = chain["set_leave"]["until"]
    leave = _LEAVE.format(number=number, until=until)
    seen = datas(prompt)
    return {
        "instruction": REQUEST.format(number=number, until=until),
        "effects": [
            {"words": leave, "service": "directory", "tool": "set_leave",
             "arguments": {"employee_id": seen[0]["ticket"]["assignee_id"], "until": until},
             "holds": []},
        ],
        "answer": {
            "name": {"words": _NAME, "description": "The name.",
                     "value": (then or seen[-1])["employee"]["name"]},
        },
        "picks": [],
        "state": [],
    }  # fmt: skip


def request_of(prompt: str) -> str:
    """The request that a solver is given."""
    return prompt.partition("The request:\n\n")[2].partition("\n\nThe answer, to be given")[0]


def good_move(prompt: str) -> Parts:
    """What a right solver does next: the ticket, leave, the ticket again, the employee, the end."""
    request = request_of(prompt)
    seen = datas(prompt)
    if not seen:
        number = re.findall(r"HD-\d+", request)[0]
        return {"calls": [call("helpdesk", "get_ticket_by_number", number=number)]}
    return good_step(prompt, seen)


def good_step(prompt: str, seen: list[Parts]) -> Parts:
    """What a right solver does next, by the answers that count."""
    ticket = seen[0]["ticket"]
    if len(seen) == 1:
        until = re.findall(r"\d{4}-\S+Z", request_of(prompt))[0]
        leave = call("directory", "set_leave", employee_id=ticket["assignee_id"], until=until)
        return {"calls": [leave, call("helpdesk", "get_ticket", ticket_id=ticket["id"])]}
    if len(seen) == 3:
        now = seen[2]["ticket"]["assignee_id"]
        return {"calls": [call("directory", "get_employee", employee_id=now)]}
    return {"finish": {"name": seen[3]["employee"]["name"]}}


def look(prompt: str) -> Parts:
    """Look what the chain does and who has the ticket then, and design."""
    seen = datas(prompt)
    if not seen:
        return {"calls": chain_of(prompt)[:3]}
    if len(seen) == 3:
        now = seen[2]["ticket"]["assignee_id"]
        return {"calls": [call("directory", "get_employee", employee_id=now)]}
    return {"notes": "tickets and leave"}


@dataclass
class Author:
    """A scripted model; each stage can be played otherwise."""

    explore: Callable[[str], Parts | Play] = look
    design: Callable[[str], Parts | Play] = good_design
    revise: Callable[[str], Parts | Play] = good_design
    probe: Callable[[str], Parts | Play] = good_move
    prompt_tokens: int = 100
    """Of each prompt, as the endpoint says."""
    stages: list[str] = field(default_factory=list)
    """What was asked for, in order."""
    prompts: list[str] = field(default_factory=list)

    def __call__(self, request: Parts) -> Play:
        """Answer one request."""
        stage, prompt = stage_of(request), prompt_of(request)
        self.stages.append(stage)
        self.prompts.append(prompt)
        made = getattr(self, stage)(prompt)
        play = made if isinstance(made, Play) else block(made)
        return replace(play, prompt_tokens=self.prompt_tokens)

    def door(self, request: Request, max_tokens: int) -> Tried:
        """Answer one request with no server between."""
        play = self({"messages": [item.model_dump() for item in request.messages]})
        return Tried(
            status=200,
            text=play.text,
            is_whole=play.finish != "length",
            prompt_tokens=play.prompt_tokens,
            answer_tokens=play.answer_tokens,
        )
