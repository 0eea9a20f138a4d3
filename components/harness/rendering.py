"""Every text that the policy is shown, from the harness's templates.

The only place with Jinja2: a sandbox without side effects, in which a missing name is an error and
never an empty text. Task and tool texts are values, never templates.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment

from components.errors import HarnessError, boundary
from components.harness.tools import ShownTool, answer_text, compact_of, signature_of
from components.records.frozen import content_hash
from components.records.harness import HarnessSettings


def render_system(
    settings: HarnessSettings, tools: Sequence[ShownTool], now: str, rules: Sequence[str]
) -> str:
    """Return the system message.

    Args:
        settings: gives template and tool style.
        tools: tools to show, in this order.
        now: the world's clock.
        rules: rules that the policy must keep.

    Raises:
        HarnessError: the template is wrong.
    """
    shown = [
        {
            "name": tool.name,
            "description": tool.description,
            "signature": signature_of(tool),
            "schema": tool.schema,
            "text": tool_text(settings, tool),
        }
        for tool in tools
    ]
    return _render(
        settings.system_prompt, "system_prompt", {"tools": shown, "now": now, "rules": list(rules)}
    )


def render_user(
    settings: HarnessSettings, instruction: str, answer_schema: Mapping[str, Any]
) -> str:
    """Return the user message, which holds the instruction. Raises HarnessError."""
    return _render(
        settings.user_prompt,
        "user_prompt",
        {
            "instruction": instruction,
            "answer_schema": answer_schema,
            "answer": answer_text(answer_schema),
        },
    )


def render_observation(settings: HarnessSettings, name: str, call_id: str, body: str) -> str:
    """Return the message that answers one call; `body` is a page of it. Raises HarnessError."""
    clean = " ".join(name.split())[:100]
    return _render(
        settings.observation, "observation", {"name": clean, "call_id": call_id, "body": body}
    )


def render_feedback(settings: HarnessSettings, problem: str) -> str:
    """Return the message after a turn in which a call could not be read. Raises HarnessError."""
    return _render(settings.invalid_call_feedback, "invalid_call_feedback", {"problem": problem})


def rendering_version(settings: HarnessSettings) -> str:
    """Return the hash of what a policy is shown: prompts, observations, feedback, tool style.

    Limits, parsers and hidden tools are left out: a policy that was trained under this rendering
    meets nothing new when they change.
    """
    shown = ("system_prompt", "user_prompt", "observation", "invalid_call_feedback", "tool_style")
    return content_hash({name: getattr(settings, name) for name in shown})


def tool_text(settings: HarnessSettings, tool: ShownTool) -> str:
    """Return what a template is given as a tool's `text`, in the style of the settings."""
    if settings.tool_style == "compact":
        return compact_of(tool)
    if settings.tool_style == "signature":
        return f"{signature_of(tool)}\n    {' '.join(tool.description.split())}"
    function = {"name": tool.name, "description": tool.description, "parameters": tool.schema}
    return _plain_json({"type": "function", "function": function})


def _plain_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _environment() -> ImmutableSandboxedEnvironment:
    # Prompts are no HTML: autoescape would turn a quote of the instruction into an entity.
    environment = ImmutableSandboxedEnvironment(
        undefined=jinja2.StrictUndefined, autoescape=False, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["tojson"] = _plain_json
    return environment


_ENVIRONMENT = _environment()


@lru_cache(maxsize=256)
def _compiled(source: str) -> jinja2.Template:
    return _ENVIRONMENT.from_string(source)


def _render(source: str, where: str, values: Mapping[str, Any]) -> str:
    with boundary(HarnessError, f"render harness.{where}"):
        return _compiled(source).render(values)
