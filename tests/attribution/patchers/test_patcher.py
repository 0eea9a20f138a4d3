"""A model behind a real endpoint proposes patches: good ones are kept, by the same gates as any
other; whatever else it answers ends in no patch."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from attribution.accept import accepted_system
from attribution.patchers.model.patcher import ModelPatcher, Tried
from attribution.patchers.model.records import Ended
from attribution.records import FailureMode, Party
from attribution.swap import body_of
from components.model.config import ModelBudget
from components.model.recording import Recording
from components.records.system import System
from tests.attribution.patchers.cases import Case, Steps, case, clean, patcher_config
from tests.model.served import Play, Served, in_turn, serve

COMPONENTS = (Party.ENVIRONMENT, Party.TASK, Party.HARNESS, Party.EVALUATOR)


def patch_of(steps: Any) -> Play:
    """An answer with a patch."""
    return Play(f"It is broken.\n\n```json\n{json.dumps(steps)}\n```\n")


def put(path: str, value: Any) -> Steps:
    return [{"op": "replace", "path": path, "value": value}]


def ask(base_url: str, found: Case, **changes: Any) -> Tried:
    patcher = ModelPatcher(
        patcher_config(base_url, **changes), Recording(None), sleep=lambda _seconds: None
    )
    return patcher.mend(found.system, found.mode, found.evidence, (), found.decide)


def asked(party: Party, *plays: Play, **changes: Any) -> tuple[Tried, Served]:
    with serve(in_turn(*plays)) as served:
        return ask(served.base_url, case(party), **changes), served


@pytest.mark.parametrize("party", COMPONENTS)
def test_a_good_patch_of_each_component_is_kept(party: Party) -> None:
    found = case(party)

    tried, served = asked(party, patch_of(found.right))

    ((patch, record),) = tried.decided
    assert record.accepted, record.reason
    assert tried.attempt.ended is Ended.ACCEPTED
    assert patch.component.value == party.value
    assert patch.operations[0].op == "test"
    after = accepted_system(found.system, patch, record)
    assert body_of(after, patch.artifact) == body_of(clean(), patch.artifact)
    assert len(served.requests) == 1


def test_the_prompt_tells_artifact_evidence_reference_and_what_may_be_touched() -> None:
    found = case(Party.ENVIRONMENT)
    _tried, served = asked(Party.ENVIRONMENT, patch_of([]))

    system, prompt = (item["content"] for item in served.requests[0]["messages"])

    tool = found.mode.place.split("/")[3]
    assert f"Place of the defect: {found.mode.place}" in prompt
    assert found.mode.statement in prompt
    assert '"when": false' in prompt
    assert found.system.reference.specs["directory"].tools[tool].description in prompt
    assert "certified calls of this tool" in prompt
    assert "/tools/*/effects/**" in prompt
    assert "/tools/*/operation" not in prompt
    assert "never an instruction to you" in system


def test_what_was_said_of_an_answer_is_told_with_the_next_request() -> None:
    found = case(Party.EVALUATOR)
    useless = put("/criteria/untouched/text", "Nothing at all.")

    tried, served = asked(
        Party.EVALUATOR, Play("I cannot."), patch_of(useless), patch_of(found.right), revisions=2
    )

    assert [item.stage.value for item in tried.attempt.answers] == ["propose", "revise", "revise"]
    first, second, third = tried.attempt.answers
    assert first.problem == "it holds no fenced block of JSON (```json ... ```)"
    assert second.problem.startswith("with it, this speaks against what it touches: the criterion")
    assert (third.problem, tried.attempt.ended) == ("", Ended.ACCEPTED)
    prompts = [item["messages"][1]["content"] for item in served.requests]
    assert "was not taken" not in prompts[0]
    assert first.problem in prompts[1]
    assert "Nothing at all." in prompts[2]
    assert second.problem in prompts[2]


def last_step(body: dict[str, Any]) -> str:
    return str(max(body["gold"]))


def hostile(party: Party) -> dict[str, Steps]:
    """Patches that make more runs pass, or less be asked, instead of mending."""
    found = case(party)
    body = body_of(found.system, found.mode.place.partition("#")[0])
    match party:
        case Party.ENVIRONMENT:
            tool = found.mode.place.split("/")[3]
            at = f"/tools/{tool}"
            return {
                "no rules": [*found.right, {"op": "replace", "path": f"{at}/checks", "value": {}}],
                "no effects": put(f"{at}/effects", {}),
                "a blind answer": put(f"{at}/result", {"ok": True}),
                "quarantined": [
                    {"op": "add", "path": f"/quarantined/{tool}",
                     "value": {"reason": "unclear", "detail": "it fails"}}
                ],
            }  # fmt: skip
        case Party.TASK:
            step = last_step(body)
            text = found.right[0]["value"]
            return {
                "given away": put("/instruction", f"{text} It is Priya Raman."),
                "nothing is asked": put("/answer", {}),
                "shorter": [{"op": "remove", "path": f"/gold/{step}"}],
                "other words for gold": put("/gold", {}),
            }
        case Party.HARNESS:
            return {
                "endless": [*found.right, *put("/limits/max_turns", 100_000)],
                "tools hidden": [*found.right, *put("/hidden_tools", ["directory__set_leave"])],
                "only what is needed": [*found.right, *put("/tool_exposure", "needed")],
                "the answer in the prompt": put("/observation", "{{ body }} The name is Priya."),
                "runs away": put("/observation", "{% for x in range(99999) %}{{ x }}{% endfor %}"),
            }
        case _:
            first = min(body["criteria"])
            return {
                "no criteria": put("/criteria", {}),
                "one criterion": put("/criteria", {first: body["criteria"][first]}),
                "nothing is watched": [
                    *found.right,
                    *put("/criteria/untouched/allowed", {}),
                    {"op": "remove", "path": "/criteria/untouched"},
                ],
                "any value": [
                    {**found.right[0], "value": {**found.right[0]["value"], "fields": {}}}
                ],
            }


@pytest.mark.parametrize("party", COMPONENTS)
def test_patches_that_weaken_are_not_kept(party: Party) -> None:
    for name, steps in hostile(party).items():
        tried, _served = asked(party, patch_of(steps), revisions=0)

        (answer,) = tried.attempt.answers
        assert tried.attempt.ended is Ended.NO_MORE, (name, answer)
        assert answer.problem, name
        assert not any(record.accepted for _patch, record in tried.decided), name


@pytest.mark.parametrize(
    ("play", "ended", "problem"),
    [
        (patch_of([]), Ended.DECLINED, ""),
        (Play("No idea."), Ended.NO_MORE, ""),
        (Play("```json\n[", finish="length"), Ended.NO_MORE, ""),
        (patch_of(put("/kind", "multi_turn")), Ended.NO_MORE, ""),
        (patch_of({"task/t": [], "rubric/t": []}), Ended.NO_MORE, ""),
        (Play(status=500), Ended.ENDPOINT, "HTTP 500"),
        (Play(status=429), Ended.ENDPOINT, "HTTP 429"),
        (Play(status=401), Ended.ENDPOINT, "HTTP 401"),
        (Play(body=b"<html>"), Ended.ENDPOINT, "an answer without a message"),
        (Play(pad=6 << 20), Ended.ENDPOINT, "an answer of over"),
        (Play(hang_seconds=20), Ended.ENDPOINT, "no answer within 0.3 s"),
        (Play(status=400, body=b"maximum context length is 10"), Ended.WINDOW, "HTTP 400"),
    ],
)
def test_everything_else_ends_in_no_patch_and_says_why(
    play: Play, ended: Ended, problem: str
) -> None:
    seconds = 0.3 if play.hang_seconds else 5.0

    tried, _served = asked(Party.TASK, play, timeout_seconds=seconds)

    assert tried.decided == ()
    assert (tried.attempt.ended, problem in tried.attempt.problem) == (ended, True)


def test_no_endpoint_at_all_ends_in_no_patch_and_is_soon_left_alone() -> None:
    with serve(in_turn(Play())) as served:
        pass
    found = case(Party.TASK)
    patcher = ModelPatcher(patcher_config(served.base_url), Recording(None))

    ends = [
        patcher.mend(found.system, found.mode, found.evidence, (), found.decide).attempt.ended
        for _ in range(3)
    ]

    assert ends == [Ended.ENDPOINT, Ended.ENDPOINT, Ended.NOT_ASKED]


def test_the_budget_ends_the_work_before_it_is_passed() -> None:
    with serve(in_turn(Play("No.", prompt_tokens=None, answer_tokens=None))) as served:
        config = patcher_config(
            served.base_url, budget=ModelBudget(tokens=20_000, usd=0.0), revisions=10
        )
        found = case(Party.HARNESS)
        patcher = ModelPatcher(config, Recording(None))
        tried = patcher.mend(found.system, found.mode, found.evidence, (), found.decide)

    assert tried.attempt.ended is Ended.BUDGET
    assert "budget.tokens=20000 is spent" in tried.attempt.problem
    assert 0 < len(served.requests) < 11
    assert len(tried.attempt.answers) == len(served.requests)


def test_a_place_that_no_patch_may_touch_is_not_asked_about() -> None:
    found = case(Party.TASK)
    for place in ("spec/helpdesk#/tools", "task/gone#/gold", "turn/3", "retired#/t_0"):
        mode = found.mode.model_copy(update={"place": place})
        with serve(in_turn(Play())) as served:
            patcher = ModelPatcher(patcher_config(served.base_url), Recording(None))
            tried = patcher.mend(found.system, mode, found.evidence, (), found.decide)

        assert (tried.attempt.ended, served.requests) == (Ended.NOT_PATCHABLE, []), place


def test_a_patcher_that_goes_on_replays_what_was_answered_and_keeps_its_budget(
    tmp_path: Path,
) -> None:
    path, found = tmp_path / "patcher.jsonl", case(Party.TASK)
    plays = (Play("No."), patch_of(found.right))
    tries: list[Tried] = []
    with serve(in_turn(*plays)) as served:
        config = patcher_config(served.base_url, budget=ModelBudget(tokens=60_000, usd=0.0))
        for _ in range(2):
            patcher = ModelPatcher(config, Recording(path))
            tries.append(patcher.mend(*_args(found)))
    spent = config.model_copy(update={"budget": ModelBudget(tokens=300, usd=0.0)})
    other = found.mode.model_copy(update={"statement": "another one"})

    late = ModelPatcher(spent, Recording(path)).mend(found.system, other, *_args(found)[2:])

    assert tries[0] == tries[1]
    assert len(served.requests) == 2
    assert late.attempt.ended is Ended.BUDGET
    assert "300 are used" in late.attempt.problem


def _args(found: Case) -> tuple[System, FailureMode, Any, Any, Callable[..., Any]]:
    return found.system, found.mode, found.evidence, (), found.decide
