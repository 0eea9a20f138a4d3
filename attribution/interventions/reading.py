"""The harness against the raw text: whether another parser reads a call that this one misses, and
what is shown.

The references are the text as the policy wrote it, the spec as it should be rendered, and the
answers as they were.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import jsonschema_rs

from attribution.evidence import evidence, place_of
from attribution.interventions.runs import Arm
from attribution.kept import kept
from attribution.meter import Intervention, metered
from attribution.records import Evidence, EvidenceKind, Party
from components.errors import HarnessError
from components.harness.formats import READERS
from components.harness.paging import error_envelope, observation_body, page_text, read_page
from components.harness.parsing import parse_turn
from components.harness.rendering import (
    render_feedback,
    render_observation,
    render_user,
    tool_text,
)
from components.harness.stage import Stage, set_stage
from components.harness.tools import FINISH, READ_MORE
from components.records.calls import ErrorCode
from components.records.frozen import FrozenDict, thaw
from components.records.harness import HarnessSettings, ParserSettings
from components.records.trajectory import ParsedCall, Trajectory
from components.task.user import opening_of

_MARK = "q7Zx0-mark"
_REFUSAL = error_envelope(ErrorCode.NOT_FOUND, f"{_MARK} is not found")


@metered(Intervention.PARSING)
def misread_turns(arm: Arm, trajectory: Trajectory) -> tuple[Evidence, ...]:
    """Return the parsers that read a valid call where the harness read none that is valid."""
    try:
        stage = set_stage(arm.system.harness, arm.world, arm.task)
    except HarnessError:
        return ()
    found = []
    for turn in trajectory.turns:
        if turn.calls and all(_is_valid(stage, call) for call in turn.calls):
            continue
        for parser in sorted(READERS):
            calls = parse_turn(turn.raw_text, _only(parser), stage.schemas, turn.index).calls
            if not calls or not all(_is_valid(stage, call) for call in calls):
                continue
            if [(c.name, c.arguments) for c in calls] == [
                (c.name, c.arguments) for c in turn.calls
            ]:
                continue
            found.append(
                evidence(
                    EvidenceKind.PARSER,
                    Party.HARNESS,
                    place_of("harness", "parsers", parser),
                    f"{parser} reads {calls[0].name} in turn {turn.index}; the harness read "
                    f"{turn.calls[0].name if turn.calls else 'no call'}",
                    task_id=trajectory.task_id,
                    rollout_id=trajectory.rollout_id,
                    turn=turn.index,
                    parser=parser,
                    text=turn.raw_text,
                )
            )
            break  # one parser that reads it is enough
        limit = arm.system.harness.limits.max_calls_per_turn
        if len(turn.calls) > limit:
            found.append(
                evidence(
                    EvidenceKind.BUDGET,
                    Party.HARNESS,
                    place_of("harness", "limits", "max_calls_per_turn"),
                    f"turn {turn.index} holds {len(turn.calls)} calls and {limit} were run",
                    task_id=trajectory.task_id,
                    rollout_id=trajectory.rollout_id,
                    setting="max_calls_per_turn",
                    needed=len(turn.calls),
                )
            )
    return tuple(found)


def is_read(arm: Arm, text: str, turn_index: int) -> bool:
    """Return whether the harness reads valid calls, and nothing else, in a raw text."""
    try:
        stage = set_stage(arm.system.harness, arm.world, arm.task)
        calls = parse_turn(text, arm.system.harness, stage.schemas, turn_index).calls
    except HarnessError:
        return False
    return bool(calls) and all(_is_valid(stage, call) for call in calls)


def _only(parser: str) -> HarnessSettings:
    return HarnessSettings(
        system_prompt="",
        user_prompt="",
        observation="",
        invalid_call_feedback="",
        parsers=FrozenDict({parser: ParserSettings(rank=0)}),
    )


def _is_valid(stage: Stage, call: ParsedCall) -> bool:
    schema = stage.schemas.get(call.name)
    return schema is not None and jsonschema_rs.is_valid(thaw(schema), thaw(call.arguments))


@metered(Intervention.RENDERING)
def broken_rendering(arm: Arm) -> tuple[Evidence, ...]:
    """Return the templates that do not show what they must, and needed tools that are hidden."""
    settings = arm.system.harness
    return tuple(
        evidence(
            EvidenceKind.RENDERING,
            Party.HARNESS,
            place_of("harness", setting),
            statement,
            task_id=arm.task.task_id,
            setting=setting,
            **data,
        )
        for setting, statement, data in _problems(arm, settings)
    )


def _problems(arm: Arm, settings: HarnessSettings) -> Iterator[tuple[str, str, dict[str, Any]]]:
    hidden = sorted(
        {f"{step.service}__{step.tool}" for step in arm.task.gold.values()}
        & set(settings.hidden_tools)
    )
    if hidden:
        yield "hidden_tools", f"{hidden[0]}, which the task needs, is not shown", {"tools": hidden}
    try:
        if _MARK not in render_feedback(settings, _MARK):
            yield "invalid_call_feedback", "the feedback does not say what the problem is", {}
    except HarnessError as error:
        yield "invalid_call_feedback", str(error), {}
    yield from _observation_problems(arm, settings)
    task = arm.task
    try:
        opening = opening_of(task)
        text = render_user(settings, opening, task.answer_schema)
        fields = sorted(task.answer_schema.get("properties") or {})
        missing = [field for field in fields if field not in text]
        if opening not in text:
            yield "user_prompt", "the instruction is not shown whole", {}
        elif missing:
            yield "user_prompt", f"the answer's field {missing[0]!r} is not shown", {}
    except HarnessError as error:
        yield "user_prompt", str(error), {}
    yield from _system_problems(arm, settings)


def _observation_problems(
    arm: Arm, settings: HarnessSettings
) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Certified answers, each as if its call were that turn's first, and one refusal."""
    certificate = arm.system.reference.certificates.get(arm.task.task_id)
    calls = [] if certificate is None else [c for _, c in sorted(certificate.gold_run.items())]
    answers = [(f"{call.service}__{call.tool}", call.envelope) for call in calls]
    answers += [(name, _REFUSAL) for name, _ in answers[:1]]
    for index, (name, envelope) in enumerate(answers):
        try:
            is_shown = is_shown_whole(settings, name, f"t{index:02d}c1", envelope)
        except HarnessError as error:
            yield "observation", str(error), {}
            return
        if not is_shown:
            yield "observation", f"an answer of {name.replace('__', '.')} is not shown whole", {}
            return


def is_shown_whole(
    settings: HarnessSettings, name: str, call_id: str, envelope: Mapping[str, Any]
) -> bool:
    """Return whether the first page of an answer is in what is shown of it, and is what a reader
    finds there first.

    Raises:
        HarnessError: the answer cannot be rendered.
    """
    page = page_text(observation_body(envelope), call_id, 1, settings.limits.max_observation_chars)
    return _says(render_observation(settings, name, call_id, page), page)


def _says(shown: str, page: str) -> bool:
    return page in shown and read_page(shown) == read_page(page)


def misshown_answers(arm: Arm, trajectory: Trajectory) -> tuple[Evidence, ...]:
    """Return the first answer of a rollout that was not shown as it was given."""
    settings = arm.system.harness
    size = settings.limits.max_observation_chars
    for turn in trajectory.turns:
        names = {call.call_id: call.name for call in turn.calls}
        for item in turn.observations:
            if item.call is None or item.call_id not in names:
                continue
            body = observation_body(item.call.envelope)
            if _says(item.shown, page_text(body, item.call_id, 1, size)):
                continue
            return (
                evidence(
                    EvidenceKind.RENDERING,
                    Party.HARNESS,
                    place_of("harness", "observation"),
                    f"turn {turn.index}: the answer of {item.call.service}.{item.call.tool} was "
                    "not shown as it was given",
                    task_id=trajectory.task_id,
                    rollout_id=trajectory.rollout_id,
                    setting="observation",
                    name=names[item.call_id],
                    call_id=item.call_id,
                    envelope=thaw(item.call.envelope),
                ),
            )
    return ()


def _system_problems(
    arm: Arm, settings: HarnessSettings
) -> Iterator[tuple[str, str, dict[str, Any]]]:
    task = arm.task
    whole = {"user_prompt": "", "hidden_tools": ()}
    shown = kept("whole harness", (settings,), lambda: settings.model_copy(update=whole))
    try:
        stage = set_stage(shown, arm.world, task)
    except HarnessError as error:
        yield "system_prompt", str(error), {}
        return
    needed = {f"{step.service}__{step.tool}" for step in task.gold.values()} | {FINISH, READ_MORE}
    tools, text = stage.tools, stage.system_text
    names = [tool.name for tool in tools]
    for tool in tools:
        if tool.name not in needed:
            continue
        is_whole = tool_text(settings, tool) in text
        said = text if is_whole else _said_of(tool.name, text, names)
        words = [tool.name, *sorted(tool.schema.get("properties") or {})]
        missing = [word for word in words if word not in said]
        if missing:
            yield "system_prompt", f"{missing[0]!r} of the tool {tool.name} is not shown", {}
            return
    for rule in task.policy_rules:
        if rule not in text:
            yield "system_prompt", "a rule that the policy must keep is not shown", {}
            return
    if task.world.now not in text:
        yield "system_prompt", "the world's clock is not shown", {}


def _said_of(name: str, text: str, names: Iterable[str]) -> str:
    """Return what a text says of one tool: from its name to where the next tool is named."""
    start = text.find(name)
    if start < 0:
        return ""
    after = start + len(name)
    ends = [text.find(other, after) for other in names if other != name]
    return text[start : min((end for end in ends if end >= 0), default=len(text))]
