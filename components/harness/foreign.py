"""One rollout of somebody else's task: its own tools and database, its own verdict at the end.

A benchmark plays calls from a task's start, so each call is played with all before it: what it
answers is what the agent would have been told. The user is by rule
(`components.task.foreign.user`).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.resources import files

from components.errors import BoundaryError, HarnessError, ProviderError, ToolError, boundary
from components.harness.defaults import default_harness
from components.harness.parsing import parse_turn, visible_text
from components.harness.policy import Message, Policy, PolicyRequest, RolloutPlan, turn_messages
from components.harness.rendering import render_feedback, render_observation, render_system
from components.harness.tools import ShownTool, nearest_name
from components.records.frozen import freeze, thaw
from components.records.harness import HarnessSettings, Limits
from components.records.trajectory import (
    Failure,
    Observation,
    ParsedCall,
    StopReason,
    Trajectory,
    Turn,
)
from components.task.foreign.user import ScenarioUser
from components.task.foreign.worker import ForeignTask, Played, Turns

Plays = Callable[[Turns, str], Played]
"""Plays calls of a task from its start and has them judged with what was said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignAnswer:
    """What a call came to."""

    text: str
    is_error: bool


def foreign_harness(limits: Limits, tool_style: str) -> HarnessSettings:
    """Return the harness for somebody else's tasks.

    Args:
        limits: budgets of an episode.
        tool_style: how tools are shown.
    """
    return default_harness().model_copy(
        update={
            "system_prompt": _prompt("foreign_system"),
            "invalid_call_feedback": _prompt("foreign_feedback"),
            "tool_style": tool_style,
            "limits": limits,
        }
    )


def _prompt(name: str) -> str:
    return files("components.harness").joinpath(f"{name}.j2").read_text("utf-8")


@dataclass(slots=True)
class ForeignEpisode:
    """A rollout of one task; `run` plays it once, and the rest is there when it has ended."""

    task: ForeignTask
    rules: str
    """The policy that the agent is to keep; empty: none is stated."""
    plays: Plays
    settings: HarnessSettings
    tools: tuple[ShownTool, ...] = ()
    calls: Turns = field(default_factory=list)
    answers: dict[str, ForeignAnswer] = field(default_factory=dict)
    """What each call came to, by its id."""
    said: list[str] = field(default_factory=list)
    """What the agent wrote, without its calls."""
    verdict: Played | None = None
    """The benchmark's, at the end; None: the episode broke."""

    async def run(self, policy: Policy, plan: RolloutPlan) -> Trajectory:
        """Play the task once and return the record of it.

        A boundary that breaks (policy, harness, tool) is recorded as `StopReason.FAILURE`.
        """
        self.calls = [[] for _ in self.task.gold]
        self.tools = tuple(_shown(self.task))
        user = ScenarioUser(self.task)
        opening, system, turns, failure = user.opening(), "", list[Turn](), None
        try:
            rules = [self.rules] if self.rules else []
            system = render_system(self.settings, self.tools, "", rules)
            start = [
                Message(role="system", content=system),
                Message(role="user", content=opening),
            ]
            stop = await self._play(policy, plan, user, start, turns)
            with boundary(ToolError, "judge the episode"):
                self.verdict = self.plays(self.calls, "\n".join(self.said))
        except BoundaryError as error:
            stop = StopReason.FAILURE
            failure = Failure(boundary=error.boundary_name, message=str(error))
        return Trajectory(
            rollout_id=plan.rollout_id,
            task_id=self.task.name,
            group_index=plan.group_index,
            seed=plan.seed,
            simulated=policy.simulated,
            component_hashes=plan.component_hashes,
            system_text=system,
            user_text=opening,
            turns=tuple(turns),
            stop_reason=stop,
            failure=failure,
            initial_state="",
            final_state=self.verdict.state if self.verdict else "",
        )

    async def _play(
        self,
        policy: Policy,
        plan: RolloutPlan,
        user: ScenarioUser,
        messages: list[Message],
        turns: list[Turn],
    ) -> StopReason:
        limits = self.settings.limits
        num_invalid = num_said = 0
        for index in range(limits.max_turns):
            if sum(len(message.content) for message in messages) > limits.max_context_chars:
                return StopReason.CONTEXT_FULL
            request = PolicyRequest(
                messages=tuple(messages),
                tools=self.tools,
                seed=plan.seed,
                turn_index=index,
                max_turn_tokens=limits.max_turn_tokens,
            )
            with boundary(ProviderError, f"turn {index} of the policy"):
                reply = await policy.act(request)
            text = reply.text.encode("utf-8", "replace").decode()
            with boundary(HarnessError, "parse the policy's message"):
                schemas = {tool.name: tool.schema for tool in self.tools}
                parsed = parse_turn(text, self.settings, schemas, index)
            shown = [self._answer(call, user.turn) for call in parsed.calls]
            is_message = not parsed.calls and not parsed.is_attempt
            answer, feedback = None, ""
            if is_message:
                self.said.append(visible_text(text)[0])
                answer = user.answer(text)
            elif parsed.problem:
                feedback = render_feedback(self.settings, parsed.problem)
            turn = Turn(
                index=index,
                raw_text=text,
                token_ids=reply.token_ids,
                logprobs=reply.logprobs,
                policy_version=policy.version,
                calls=parsed.calls,
                observations=tuple(shown),
                problem="" if is_message else parsed.problem,
                feedback=feedback,
                user=answer or "",
            )
            turns.append(turn)
            messages += turn_messages(turn)
            num_said += is_message
            num_invalid = num_invalid + 1 if not (parsed.calls or is_message) else 0
            if is_message and answer is None:
                return StopReason.FINISHED
            if num_said > limits.max_user_turns:
                return StopReason.MAX_USER_TURNS
            if num_invalid >= limits.max_invalid_turns:
                return StopReason.INVALID_TURNS
        return StopReason.MAX_TURNS

    def _answer(self, call: ParsedCall, turn: int) -> Observation:
        """Play one call, and return what the agent is shown of it."""
        tool = self.task.tools.get(call.name)
        hidden = self.task.hidden[turn] if turn < len(self.task.hidden) else []
        if tool is None or call.name in hidden:
            near = nearest_name(call.name, self.task.tools)
            text = f"Error: no tool {call.name[:100]}" + (f"; did you mean {near}?" if near else "")
            found = ForeignAnswer(text=text, is_error=True)
        else:
            at = min(turn, len(self.calls) - 1)
            self.calls[at].append({"tool": call.name, "arguments": thaw(call.arguments)})
            with boundary(ToolError, f"call {call.name}"):
                answer = self.plays(self.calls, "").answers[at][-1]
            found = ForeignAnswer(text=str(answer["text"]), is_error=bool(answer["error"]))
        self.answers[call.call_id] = found
        shown = render_observation(self.settings, call.name, call.call_id, found.text)
        return Observation(call_id=call.call_id, call=None, shown=shown)


def _shown(task: ForeignTask) -> list[ShownTool]:
    found = []
    for name, schema in sorted(task.tools.items()):
        body = {key: value for key, value in schema.items() if key not in ("reads", "description")}
        found.append(
            ShownTool(
                name=name,
                service="",
                tool=name,
                description=str(schema.get("description") or ""),
                schema=freeze(json.loads(json.dumps(body))),
            )
        )
    return found
