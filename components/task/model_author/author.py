"""A model that authors tasks: explore, design, probe, submit.

Owns the order of the work on one draft. The walk is drawn by the grammar's search, so that a task
turns on a reaction; the model explores its services by real calls, designs a request, and solves it
blind: who solves is told the request and the tools, and nothing of the design. Gold, rubric and
mutants are derived from the calls, never written by the model, and the gates are those of every
task. Whatever else happens (a useless answer, a spent budget, an endpoint that is gone) is a
refused draft with the stage and the reason.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from components.environment.world import World, build_world
from components.errors import ProviderError, SynthesisError
from components.evaluator.compile import compile_rubric
from components.model.answers import Unusable
from components.model.budget import Budget, BudgetSpent
from components.model.endpoint import Door, open_door
from components.model.prompts import Prompts
from components.model.recording import Recording
from components.model.records import StageFigures, Tried
from components.model.session import PromptTooLong, Session
from components.records.frozen import thaw
from components.records.system import System
from components.records.task import RejectedDraft
from components.records.world import WorldSpec
from components.task.certify import certify
from components.task.compose import (
    WORLD_NOW,
    ComposedTask,
    TaskSettings,
    drawn_rest,
    services_for_tasks,
)
from components.task.drawing import drawn_walk
from components.task.filling import as_object
from components.task.gates import length_of
from components.task.gold import run_gold
from components.task.graph import ToolGraph, tool_graph
from components.task.ground import ground_of
from components.task.model_author.answers import object_of
from components.task.model_author.config import ModelTaskAuthorConfig
from components.task.model_author.effects import check_answer_said, check_design, matched
from components.task.model_author.playing import Played, played_on
from components.task.model_author.records import Design, Explored, Probed, Stage
from components.task.model_author.sources import Sources
from components.task.model_author.start import changed_world
from components.task.model_author.tracing import traced_task
from components.task.reasons import Reason, Rejection
from components.task.steps import Walk

_PROMPTS = Prompts(Path(__file__).resolve().parent / "prompts")
_MOST_USELESS = 2
"""Useless answers in a row, after which a stage is given up."""
_MAX_TOLD = 6_000
"""Characters of an earlier design, and of how it was solved, that its author is shown again."""


class ModelTaskAuthor:
    """Authors one draft after another, within one budget."""

    def __init__(
        self,
        system: System,
        settings: TaskSettings,
        config: ModelTaskAuthorConfig,
        recording: Recording,
        door: Door | None = None,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        """Open an author.

        Args:
            system: services and reactions; tasks that it already has make no difference.
            settings: K, the least L, distractors and domains.
            config: endpoint, budget, revisions, calls.
            recording: what was asked before; the budget is charged with all of it, unless it is
                replayed.
            door: makes one HTTP request; None opens the configured endpoint.
            sleep: waits that many seconds between tries.
        """
        self._system, self._settings, self._config = system, settings, config
        self._budget = Budget(config)
        self._session = Session(
            config, self._budget, recording, door or open_door(config), sleep,
            is_whole=not recording.is_replay,
        )  # fmt: skip

    @property
    def stages(self) -> Mapping[str, StageFigures]:
        """What was spent so far, by stage."""
        return self._budget.stages

    def compose(self, draft_seed: int) -> ComposedTask | RejectedDraft:
        """Author one task, or say at which stage it was given up and why.

        Raises:
            ConfigError: the recording cannot be written, or a replay has no answer to a request.
        """
        work = _Work(self._system, self._settings, self._config, self._session, draft_seed)
        try:
            made = work.run()
        except BudgetSpent as error:
            made = Rejection(reason=Reason.BUDGET, detail=str(error))
        except PromptTooLong as error:
            made = Rejection(reason=Reason.WINDOW, detail=str(error))
        except ProviderError as error:
            made = Rejection(reason=Reason.ENDPOINT, detail=str(error))
        if isinstance(made, ComposedTask):
            return made
        return RejectedDraft(
            draft_id=f"draft_{draft_seed}",
            reason=made.reason.value,
            detail=made.detail,
            stage=work.stage.value,
        )


@dataclass(slots=True)
class _Work:
    """One draft while it lasts."""

    system: System
    settings: TaskSettings
    config: ModelTaskAuthorConfig
    session: Session
    seed: int
    stage: Stage = Stage.WALK
    told: dict[str, Any] = field(default_factory=dict)
    """What every prompt of the author says: services, tools, the walk."""
    solved: Played | None = None
    """The last line of play that was to solve a design."""

    def run(self) -> ComposedTask | Rejection:
        """Explore once, then design until a design is admitted or no more are wanted."""
        try:
            drawn = self._drawn()
        except SynthesisError as error:
            return Rejection(reason=Reason.STRUCTURE, detail=str(error))
        if isinstance(drawn, Rejection):
            return drawn
        spec, world, graph = drawn
        looked = self._explored(world, graph)
        if isinstance(looked, Rejection):
            return looked
        earlier: list[dict[str, str]] = []
        made: ComposedTask | Rejection | None = None
        for turn in range(self.config.revisions + 1):
            asked = self.stage = Stage.REVISE if turn else Stage.DESIGN
            self.solved = None
            text = _PROMPTS.render("design", **self.told, **looked, earlier=earlier)
            tried = self._ask(asked, "system_author", text)
            made = self._submitted(tried, spec, world, graph)
            if isinstance(made, ComposedTask):
                return made
            earlier.append(
                {
                    "text": (tried.text or "")[:_MAX_TOLD],
                    "solved": "" if self.solved is None else _shown(self.solved)[-_MAX_TOLD:],
                    "problem": f"{self.stage.value}: {made.reason.value}: {made.detail}",
                }
            )
        assert made is not None
        return made

    def _drawn(self) -> tuple[WorldSpec, World, ToolGraph] | Rejection:
        settings, rng = self.settings, random.Random(f"{self.seed}:compose")
        about = services_for_tasks(self.system, settings.domains)
        if len(about) < settings.k:
            detail = f"task.k is {settings.k}; services to choose from: {', '.join(about)}"
            return Rejection(reason=Reason.TOO_FEW_SERVICES, detail=detail)
        ground = ground_of(self.system, WorldSpec(services=about, distractors=(), now=WORLD_NOW))
        walk = drawn_walk(ground, settings.k, settings.walk_length, rng) if ground.anchors else None
        if walk is None:
            detail = f"no walk of {settings.walk_length} calls through {settings.k} services found"
            return Rejection(reason=Reason.NO_PATH, detail=detail)
        spec = WorldSpec(
            services=walk.services,
            distractors=drawn_rest(self.system, walk.services, settings, rng),
            now=WORLD_NOW,
        )
        graph = tool_graph(self.system, walk.services)
        self.told = self._about(walk, graph)
        return spec, build_world(self.system, spec), graph

    def _about(self, walk: Walk, graph: ToolGraph) -> dict[str, Any]:
        anchor = walk.anchor
        return {
            "seed": self.seed,
            "now": WORLD_NOW,
            "k": self.settings.k,
            "least": self.settings.walk_length,
            "services": [
                {"name": name, "title": self.system.reference.specs[name].title or name}
                for name in walk.services
            ],
            "tools": _tools(graph),
            "reaction": self.system.environment.reactions[anchor.reaction].text,
            "changed": {
                "service": anchor.row.service, "table": anchor.row.table, "field": anchor.field,
            },
            "chain": [
                {
                    "service": step.shape.service,
                    "tool": step.shape.name,
                    "arguments": thaw(as_object(step.arguments)),
                }
                for step in walk.steps
            ],
        }  # fmt: skip

    def _explored(self, world: World, graph: ToolGraph) -> dict[str, Any] | Rejection:
        """Let the model call tools on a world of its own, and keep what it saw and noted."""
        self.stage = Stage.EXPLORE
        played, notes, problem, useless = (
            played_on(world, graph, self.config.explore_calls),
            "",
            "",
            0,
        )
        while played.left > 0:
            text = _PROMPTS.render(
                "explore", **self.told, lines=played.lines, left=played.left, problem=problem
            )
            try:
                found = object_of(self._ask(Stage.EXPLORE, "system_author", text), Explored)
            except Unusable as error:
                problem, useless = str(error), useless + 1
                if useless >= _MOST_USELESS:
                    return Rejection(reason=Reason.UNUSABLE_ANSWER, detail=problem)
                continue
            problem, useless, notes = "", 0, found.notes or notes
            if not found.calls:
                break
            played.make(found.calls)
        return {"lines": played.lines, "notes": notes[:_MAX_TOLD]}

    def _submitted(
        self, tried: Tried, spec: WorldSpec, world: World, graph: ToolGraph
    ) -> ComposedTask | Rejection:
        """Read a design, have it solved, and pass what comes of it through every gate."""
        try:
            design = object_of(tried, Design)
        except Unusable as error:
            return Rejection(reason=Reason.UNUSABLE_ANSWER, detail=str(error))
        problem = check_design(design, graph)
        if problem is not None:
            return problem
        changed = changed_world(self.system, spec, world, design.state)
        if isinstance(changed, Rejection):
            return changed
        spec, world = changed
        finish = self._probed(design, world, graph)
        if isinstance(finish, Rejection):
            return finish
        self.stage = Stage.SUBMIT
        assert self.solved is not None
        try:
            return self._certified(design, finish, self.solved, spec, world)
        except SynthesisError as error:
            return Rejection(reason=Reason.STRUCTURE, detail=str(error))

    def _probed(
        self, design: Design, world: World, graph: ToolGraph
    ) -> Mapping[str, Any] | Rejection:
        """Let the model solve a request of which it is told nothing else; return its answer."""
        self.stage = Stage.PROBE
        self.solved = played = played_on(world, graph, self.config.probe_calls)
        asked = {name: item.description for name, item in sorted(design.answer.items())}
        problem, useless = "", 0
        while True:
            text = _PROMPTS.render(
                "probe", seed=self.seed, now=WORLD_NOW, tools=self.told["tools"],
                instruction=design.instruction, answer=asked, lines=played.lines,
                left=played.left, problem=problem,
            )  # fmt: skip
            try:
                found = object_of(self._ask(Stage.PROBE, "system_solver", text), Probed)
                if not (found.calls or found.give_up or found.finish is not None):
                    raise Unusable("it neither calls a tool nor finishes nor gives up")
            except Unusable as error:
                problem, useless = str(error), useless + 1
                if useless >= _MOST_USELESS:
                    return Rejection(reason=Reason.UNUSABLE_ANSWER, detail=problem)
                continue
            problem, useless = "", 0
            if found.give_up:
                return Rejection(
                    reason=Reason.NO_SOLUTION, detail=f"given up: {found.give_up}"[:600]
                )
            if found.calls and played.left <= 0:
                detail = f"not solved within task.author.probe_calls={played.most}"
                return Rejection(reason=Reason.NO_SOLUTION, detail=detail)
            played.make(found.calls)
            if found.finish is not None:
                return found.finish

    def _certified(
        self,
        design: Design,
        finish: Mapping[str, Any],
        played: Played,
        spec: WorldSpec,
        world: World,
    ) -> ComposedTask | Rejection:
        records = tuple(played.records)
        effects = matched(design, records, played.graph, world)
        if isinstance(effects, Rejection):
            return effects
        problem = check_answer_said(design, finish)
        if problem is not None:
            return problem
        sources = Sources(design, played.graph, records, spec.now)
        task = traced_task(design, sources, records, effects, finish, spec, self.seed)
        if isinstance(task, Rejection):
            return task
        visited = {step.service for step in task.gold.values()}
        if visited != set(spec.services) or length_of(task) < self.settings.walk_length:
            detail = (
                f"the calls that count visit {', '.join(sorted(visited))} in {length_of(task)} "
                f"visits; {', '.join(spec.services)} and at least {self.settings.walk_length} "
                "are wanted"
            )
            return Rejection(reason=Reason.WRONG_LENGTH, detail=detail)
        gold = run_gold(world, task)
        if isinstance(gold, Rejection):
            return gold
        rubric = compile_rubric(task, [gold.records[n] for n in gold.names], world, gold.answer)
        certificate = certify(self.system, task, rubric, world)
        if isinstance(certificate, Rejection):
            return certificate
        return ComposedTask(task=task, rubric=rubric, certificate=certificate)

    def _ask(self, stage: Stage, system: str, prompt: str) -> Tried:
        return self.session.ask(stage, _PROMPTS.render(system), prompt)


def _shown(played: Played) -> str:
    return "\n".join(played.lines)


def _tools(graph: ToolGraph) -> list[dict[str, Any]]:
    return [
        {
            "service": service,
            "tool": name,
            "writes": shape.is_write,
            "description": shape.spec.description,
            "input": thaw(shape.spec.input_schema),
        }
        for (service, name), shape in sorted(graph.tools.items())
    ]
