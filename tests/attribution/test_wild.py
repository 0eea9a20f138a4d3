"""A policy that is no script: other formats, early ends, endless and useless calls, noise. On a
clean system nobody but the policy is to blame, and no judgement breaks.
"""

from __future__ import annotations

import asyncio
import random

from attribution.attribute import attribute_trajectory
from attribution.records import Attribution, Decision, Party
from components.environment.world import build_world
from components.evaluator.rubric import score_group
from components.harness.episode import run_rollout
from components.harness.oracle import Call, write_calls
from components.harness.policy import Message, PolicyReply, PolicyRequest, RolloutPlan
from components.harness.tools import FINISH
from components.harness.transcript import FORMATS, read_transcript
from components.megamcp.session import open_session
from components.records.frozen import FrozenDict
from components.records.system import System
from components.records.task import Task
from components.records.trajectory import StopReason
from loop.policy.scripted import ScriptedPolicy
from tests.attribution.hand_made import small_system
from tests.attribution.playing import SLIPS, Scored

NOISE = (
    "",
    "I am thinking about it.",
    "<tool_call>{" * 3,
    "<tool_call>[1, 2]</tool_call>",
    "```json\n{'name': 'x'}\n```",
    "<think>never closed",
    "\x00\u202e{{ 7 * 7 }}{% for x in y %}",
    '{"name": "mail.get_mailbox", "arguments": "{"}',
    "{" * 3000,
)
USELESS: tuple[Call, ...] = (
    ("helpdesk__assign_ticket", {"ticket_id": None}),
    ("nobody__nothing", {"a": []}),
    ("read_more", {"call_id": "t00c1", "page": -1}),
)
NUM_WAYS = 8


class WildPolicy:
    """What a script would do, done in one of several wild ways; says that it is a model."""

    version = "wild"
    simulated = False

    def __init__(self, task: Task) -> None:
        """Args: task: its gold is the thread that is lost now and then."""
        self._inner = ScriptedPolicy(task, SLIPS, 0)

    async def act(self, request: PolicyRequest) -> PolicyReply:
        """Return the next turn; the rollout's seed says in which way it is wild."""
        rng = random.Random(f"{request.seed}:{request.turn_index}")
        text = (await self._inner.act(request)).text
        way, is_drawn = request.seed % NUM_WAYS, rng.random() < 0.3
        calls = calls_in(text, request)
        if way == 0 and calls:
            text = f"<think>{text}</think>\n" + write_calls(calls, rng.choice(FORMATS))
        elif way == 1 and is_drawn:
            text = write_calls([(FINISH, {"answer": {}})], "hermes")
        elif way == 2 and calls and is_drawn:
            text = write_calls(calls * 12, "hermes")
        elif way == 3 and is_drawn:
            text = rng.choice(NOISE)
        elif way == 4 and calls and is_drawn:
            text = write_calls([*calls, (FINISH, {"answer": {"time_code": "x"}})], "hermes")
        elif way == 5:
            text = write_calls(
                [("mail__list_threads", {"limit": request.turn_index + 1})], "openai"
            )
        elif way == 6 and calls:
            renamed = [(name.replace("__", "."), arguments) for name, arguments in calls]
            text = write_calls(renamed, rng.choice(FORMATS)) + rng.choice(("", "\nDone."))
        elif way == 7 and calls and is_drawn:
            text = write_calls([*USELESS, *calls], "hermes")
        return PolicyReply(text=text)


def calls_in(text: str, request: PolicyRequest) -> list[Call]:
    """Return the calls of a well-formed message."""
    said = (*request.messages[:2], Message(role="assistant", content=text))
    answered = (*said, *(Message(role="tool", content="") for _ in range(20)))
    return [(item.name, item.arguments) for item in read_transcript(answered).exchanges]


async def played(system: System, group_size: int) -> list[Scored]:
    found: list[Scored] = []
    for task_id, task in sorted(system.tasks.items()):
        world, group = build_world(system, task.world), []
        for index in range(group_size):
            name = f"{task_id}.{index}"
            plan = RolloutPlan(
                rollout_id=name, group_index=index, seed=index, component_hashes=FrozenDict()
            )
            session = open_session(world, None, name)
            policy = WildPolicy(task)
            group.append(await run_rollout(system, world, task, policy, plan, session))
        found += zip(group, score_group(system, task, group), strict=True)
    return found


def test_on_a_clean_system_only_the_policy_is_ever_to_blame() -> None:
    system = small_system(8)
    rollouts = asyncio.run(played(system, 2 * NUM_WAYS))

    judged: list[Attribution] = [attribute_trajectory(system, *item) for item in rollouts]

    stops = {trajectory.stop_reason for trajectory, _ in rollouts}
    assert {StopReason.FINISHED, StopReason.GAVE_UP, StopReason.MAX_TURNS} <= stops
    failed = [scored.passed is False for _, scored in rollouts]
    assert len(failed) - 25 > sum(failed) > 25
    for item, is_failed in zip(judged, failed, strict=True):
        verdict = item.verdict
        assert verdict.decision is (Decision.BLAMED if is_failed else Decision.CLEARED), verdict
        assert {blame.party for blame in verdict.blamed} <= {Party.POLICY}, verdict
