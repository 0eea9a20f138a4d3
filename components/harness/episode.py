"""One rollout: render, act, parse, call, observe, until something stops it.

Owns the conversation and its budgets. It refuses to judge: it records raw text, parsed calls and
whole answers, and a boundary that breaks ends the rollout as data. The policy never gets hold of
world or session.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from components.environment.state import WorldState, state_hash
from components.environment.world import World
from components.errors import BoundaryError, HarnessError, ProviderError, ToolError, boundary
from components.harness.conversation import Conversation
from components.harness.paging import error_envelope, num_pages, observation_body, page_text
from components.harness.parsing import parse_turn
from components.harness.policy import (
    Message,
    Policy,
    PolicyReply,
    PolicyRequest,
    RolloutPlan,
    turn_messages,
)
from components.harness.rendering import render_feedback, render_observation
from components.harness.stage import Stage, answer_problem, set_stage
from components.harness.tools import FINISH, READ_MORE, nearest_name
from components.records.calls import CallRecord, ErrorCode
from components.records.frozen import JsonObject
from components.records.system import System
from components.records.task import Task
from components.records.trajectory import (
    Failure,
    Observation,
    ParsedCall,
    StopReason,
    Trajectory,
    Turn,
)


class CallsWorld(Protocol):
    """What an episode needs of a session (`components.megamcp.session.Session` is one)."""

    @property
    def state(self) -> WorldState:
        """The world's state now."""

    def call(
        self, service: str, tool: str, arguments: Mapping[str, Any], key: str | None = None
    ) -> CallRecord:
        """Execute one call; the same key never applies twice."""


async def run_rollout(
    system: System,
    world: World,
    task: Task,
    policy: Policy,
    plan: RolloutPlan,
    session: CallsWorld,
) -> Trajectory:
    """Play one task once and return the record of it.

    A boundary that breaks (policy, harness, tool, environment, user) is recorded as
    `StopReason.FAILURE`; only cancellation and mistakes of whoever started the run are raised.
    """
    initial = state_hash(session.state)
    episode: _Episode | None = None
    failure = None
    try:
        episode = _Episode(
            set_stage(system.harness, world, task), Conversation(task), policy, plan, session
        )
        stop = await episode.play()
    except BoundaryError as error:
        stop = StopReason.FAILURE
        failure = Failure(boundary=error.boundary_name, message=str(error))
    return Trajectory(
        rollout_id=plan.rollout_id,
        task_id=task.task_id,
        group_index=plan.group_index,
        seed=plan.seed,
        simulated=policy.simulated,
        component_hashes=plan.component_hashes,
        system_text=episode.stage.system_text if episode else "",
        user_text=episode.stage.user_text if episode else "",
        turns=tuple(episode.turns) if episode else (),
        stop_reason=stop,
        failure=failure,
        answer=episode.answer if episode else None,
        initial_state=initial,
        final_state=state_hash(session.state),
    )


class _Episode:
    """The changing part of one rollout; lives as long as `run_rollout`."""

    def __init__(
        self,
        stage: Stage,
        conversation: Conversation,
        policy: Policy,
        plan: RolloutPlan,
        session: CallsWorld,
    ) -> None:
        self.stage, self._conversation = stage, conversation
        self.turns: list[Turn] = []
        self.answer: JsonObject | None = None
        self._policy, self._plan, self._session = policy, plan, session
        self._messages = [
            Message(role="system", content=stage.system_text),
            Message(role="user", content=stage.user_text),
        ]
        self._num_chars = len(stage.system_text) + len(stage.user_text)
        self._bodies: dict[str, str] = {}
        """Whole answers by call id, for `read_more`."""
        self._num_unusable = 0
        """Turns in a row without a usable call, or a message that the user had an answer to."""
        self._has_attempted = False
        """Whether one of those turns tried to call a tool."""

    async def play(self) -> StopReason:
        """Take turns until the episode ends."""
        limits = self.stage.settings.limits
        for index in range(limits.max_turns):
            if self._num_chars > limits.max_context_chars:
                return StopReason.CONTEXT_FULL
            await self._take_turn(index)
            if self.answer is not None:
                return StopReason.FINISHED
            if self._conversation.num_messages > limits.max_user_turns:
                return StopReason.MAX_USER_TURNS
            if self._num_unusable >= limits.max_invalid_turns:
                return StopReason.INVALID_TURNS if self._has_attempted else StopReason.GAVE_UP
        return StopReason.MAX_TURNS

    async def _take_turn(self, index: int) -> None:
        """Act -> parse -> call -> observe; what ran is recorded even when a boundary breaks."""
        reply = await self._act(index)
        text = reply.text.encode("utf-8", "replace").decode()  # half surrogates cannot be stored
        observations: list[Observation] = []
        feedback = said = ""
        with boundary(HarnessError, "parse the policy's message"):
            parsed = parse_turn(text, self.stage.settings, self.stage.schemas, index)
        is_addressed = self._conversation.is_addressed(parsed)
        try:
            is_usable = False
            for call in parsed.calls:
                observation, is_call = self._answer_call(call, observations, parsed.calls)
                observations.append(observation)
                is_usable = is_usable or is_call
            if is_addressed:
                said = self._conversation.answer(text)
                is_usable = self._conversation.has_more
            elif parsed.problem:
                feedback = render_feedback(self.stage.settings, parsed.problem)
        finally:
            turn = Turn(
                index=index,
                raw_text=text,
                token_ids=reply.token_ids,
                logprobs=reply.logprobs,
                policy_version=self._policy.version,
                calls=parsed.calls,
                observations=tuple(observations),
                problem="" if is_addressed else parsed.problem,
                feedback=feedback,
                user=said,
            )
            self.turns.append(turn)
        for message in turn_messages(turn):
            self._messages.append(message)
            self._num_chars += len(message.content)
        self._has_attempted = not is_usable and (
            parsed.is_attempt or (self._has_attempted and self._num_unusable > 0)
        )
        self._num_unusable = 0 if is_usable else self._num_unusable + 1

    async def _act(self, index: int) -> PolicyReply:
        request = PolicyRequest(
            messages=tuple(self._messages),
            tools=self.stage.tools,
            seed=self._plan.seed,
            turn_index=index,
            max_turn_tokens=self.stage.settings.limits.max_turn_tokens,
        )
        with boundary(ProviderError, f"turn {index} of the policy"):
            return await self._policy.act(request)

    def _answer_call(
        self, call: ParsedCall, before: list[Observation], calls: tuple[ParsedCall, ...]
    ) -> tuple[Observation, bool]:
        """Answer one call; also return whether it was one that the harness could act on."""
        position, most = len(before), self.stage.settings.limits.max_calls_per_turn
        if position >= most:
            return self._refuse(call, f"at most {most} calls run in one message; this one did not")
        if any(earlier.name == FINISH for earlier in calls[:position]):
            return self._refuse(call, "nothing runs after finish in the same message")
        if call.name == FINISH:
            return self._finish(call)
        if call.name == READ_MORE:
            return self._read_more(call)
        tool = self.stage.by_name.get(call.name)
        if tool is None:
            nearest = nearest_name(call.name, self.stage.by_name)
            hint = f"; did you mean {nearest}?" if nearest else ""
            problem = f"no tool {call.name[:100]}{hint}"
            envelope = error_envelope(ErrorCode.UNKNOWN_TOOL, problem, nearest=nearest or None)
            return self._show(call, envelope), False
        with boundary(ToolError, f"call {tool.service}.{tool.tool}"):
            key = f"{self._plan.rollout_id}/{call.call_id}"
            record = self._session.call(tool.service, tool.tool, call.arguments, key=key)
        return self._show(call, record.envelope, record), True

    def _finish(self, call: ParsedCall) -> tuple[Observation, bool]:
        answer = call.arguments.get("answer")
        problem = answer_problem(self.stage, answer)
        if problem:
            envelope = error_envelope(ErrorCode.INVALID_ARGUMENTS, problem)
            return self._show(call, envelope), True
        self.answer = answer
        return self._show(call, {"ok": True, "data": {"finished": True}}), True

    def _read_more(self, call: ParsedCall) -> tuple[Observation, bool]:
        call_id, page = call.arguments.get("call_id"), call.arguments.get("page")
        size = self.stage.settings.limits.max_observation_chars
        body = self._bodies.get(call_id) if isinstance(call_id, str) else None
        if body is None:
            return self._refuse(call, "no earlier answer has this call_id", ErrorCode.NOT_FOUND)
        total = num_pages(body, size)
        if type(page) is not int or not 1 <= page <= total:
            problem = f"page must be a whole number from 1 to {total}"
            return self._refuse(call, problem, ErrorCode.INVALID_ARGUMENTS)
        assert isinstance(call_id, str)
        shown = page_text(body, call_id, page, size)
        text = render_observation(self.stage.settings, call.name, call.call_id, shown)
        page_record = Observation(call_id=call.call_id, call=None, shown=text, truncated=total > 1)
        return page_record, True

    def _refuse(
        self, call: ParsedCall, problem: str, code: ErrorCode = ErrorCode.UNSUPPORTED
    ) -> tuple[Observation, bool]:
        return self._show(call, error_envelope(code, problem)), False

    def _show(
        self, call: ParsedCall, envelope: Mapping[str, Any], record: CallRecord | None = None
    ) -> Observation:
        """Render an answer's first page and keep the whole for `read_more`."""
        settings = self.stage.settings
        size = settings.limits.max_observation_chars
        with boundary(HarnessError, f"render the answer of {call.name[:100]}"):
            body = observation_body(envelope)
            self._bodies[call.call_id] = body
            page = page_text(body, call.call_id, 1, size)
            shown = render_observation(settings, call.name, call.call_id, page)
        truncated = num_pages(body, size) > 1
        return Observation(call_id=call.call_id, call=record, shown=shown, truncated=truncated)
