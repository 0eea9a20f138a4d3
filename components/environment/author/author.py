"""The model-backed author of one service: explore, write, test, revise, keep the best, simplify.

Owns the order of the work and the choice at its end. Code replaces a blueprint only where the same
tests say that it is better; whatever else happens (a useless answer, a spent budget, an endpoint
that is gone) ends in the blueprint, with the reason. The tests that decide are written by a session
of their own, which sees the specification and never the code.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from components.environment.author.answers import code_of, names_of, written_tests_of
from components.environment.author.config import ModelAuthorConfig
from components.environment.author.judge import judge_world
from components.environment.author.records import (
    Authored,
    Stage,
    Stopped,
    Tally,
    Version,
    WrittenTest,
)
from components.environment.author.sources import MAX_FILES, list_source, read_source
from components.environment.author.trials import answer_shapes
from components.environment.gates.probe import GATE_NOW
from components.environment.sandbox.code_service import (
    Described,
    describe_sources,
    external_tools,
)
from components.environment.sandbox.limits import SandboxLimits
from components.environment.sandbox.walls import Walls
from components.environment.sandbox.workers import Workers, shared_workers
from components.environment.world import build_code_world, build_service_world
from components.errors import ProviderError, SynthesisError
from components.model.answers import Unusable
from components.model.budget import Budget, BudgetSpent
from components.model.endpoint import Door, open_door
from components.model.prompts import Prompts
from components.model.recording import Recording
from components.model.records import Tried
from components.model.session import PromptTooLong, Session
from components.records.blueprint import Blueprint, SeedData
from components.records.code import ENTRY
from components.records.frozen import FrozenDict, thaw
from components.records.spec import ServiceSpec

_PROMPTS = Prompts(Path(__file__).resolve().parent / "prompts")
_MAX_ASKED_TESTS = 12
_MAX_TOLD = 12
"""Failures that a revision is told."""
_MAX_NOTES = 6000


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A version whose tests ran."""

    code: str
    described: Described
    tally: Tally

    @property
    def rank(self) -> tuple[int, int, int]:
        """What makes one version better than another."""
        tally = self.tally
        passed = tally.own_passed + tally.adversarial_passed
        return len(tally.working), passed, -tally.gate_failures


def open_recording(config: ModelAuthorConfig) -> Recording:
    """Return the recording that a configuration names.

    Raises:
        ConfigError: its file cannot be used.
    """
    if config.replay is not None:
        return Recording(Path(config.replay), key=f"{config.section}.replay", is_replay=True)
    return Recording(
        None if config.record is None else Path(config.record), key=f"{config.section}.record"
    )


def author_service(
    spec: ServiceSpec,
    blueprint: Blueprint,
    seed: SeedData,
    config: ModelAuthorConfig,
    recorder: Recording,
    *,
    workers: Workers | None = None,
    door: Door | None = None,
    sleep: Callable[[float], object] = time.sleep,
) -> Authored:
    """Let a model write a service, and return its code where that is better than the blueprint.

    Args:
        spec: the tools; nobody changes them.
        blueprint: the compiler's, after its gates: the tools in quarantine are what is missing.
        seed: the blueprint's rows.
        config: endpoint, budget, walls.
        recorder: what was asked before, and where it is kept; see `open_recording`.
        workers: where code runs; None takes those of this process.
        door: makes one HTTP request; None opens the configured endpoint.
        sleep: waits that many seconds between tries.

    Raises:
        ComputeError: the walls do not stand here.
        ConfigError: the recording or the source cannot be used.
    """
    if workers is None:
        limits = SandboxLimits(deadline_seconds=config.deadline_seconds)
        workers = shared_workers(Walls(config.sandbox), limits)
    budget = Budget(config)
    session = Session(config, budget, recorder, door or open_door(config), sleep)
    work = _Work(spec, blueprint, seed, config, session, budget, workers)
    ended, stopped = "", None
    if work.wanted:
        try:
            work.write_adversarial()
            work.explore()
            work.write()
            work.simplify()
        except BudgetSpent as error:
            ended, stopped = str(error), Stopped.BUDGET
        except PromptTooLong as error:
            ended, stopped = str(error), Stopped.WINDOW
        except ProviderError as error:
            ended, stopped = str(error), Stopped.ENDPOINT
    return work.result(ended, stopped)


@dataclass(slots=True)
class _Work:
    """One service's authorship while it lasts."""

    spec: ServiceSpec
    blueprint: Blueprint
    seed: SeedData
    config: ModelAuthorConfig
    session: Session
    budget: Budget
    workers: Workers
    adversarial: tuple[WrittenTest, ...] = ()
    own: tuple[WrittenTest, ...] | None = None
    """None until a version came; then they stay, so that versions can be compared."""
    notes: str = ""
    problem: str = ""
    """Why the last answer could not be used."""
    best: _Candidate | None = None
    versions: list[Version] = field(default_factory=list)
    baseline: Tally | None = None
    """How the blueprint does; None until somebody asks."""

    @property
    def wanted(self) -> list[str]:
        """Tools that code can serve: all but those whose answers lie outside of any service."""
        return sorted(set(self.spec.tools) - external_tools(self.blueprint))

    def write_adversarial(self) -> None:
        """Have the tests written by who sees the specification only."""
        with self._stage(Stage.ADVERSARIAL):
            prompt = _PROMPTS.render(
                "adversarial", max_tests=_MAX_ASKED_TESTS, **self._spec_values()
            )
            tried = self.session.ask(Stage.ADVERSARIAL, _PROMPTS.render("system_tester"), prompt)
            self.adversarial = written_tests_of(tried, self.wanted)

    def explore(self) -> None:
        """Have the specification read, and the server's source where there is one."""
        with self._stage(Stage.EXPLORE):
            files = []
            if self.config.source is not None:
                known = list_source(Path(self.config.source))
                names = tuple(known)
                if len(known) > MAX_FILES:
                    listed = [{"name": n, "size": file.size} for n, file in known.items()]
                    tried = self._ask(
                        Stage.EXPLORE, "choose_files", files=listed, max_files=MAX_FILES
                    )
                    names = names_of(tried, known, MAX_FILES)
                files = read_source(known[name] for name in names[:MAX_FILES])
            self.notes = (self._ask(Stage.EXPLORE, "explore", files=files).text or "")[:_MAX_NOTES]

    def write(self) -> None:
        """Have a first version written, and revise the best one until it is perfect or no more."""
        for turn in range(self.config.revisions + 1):
            stage = Stage.REVISE if turn else Stage.WRITE
            with self._stage(stage):
                if self.best is None:
                    tried = self._ask(
                        stage, "write", notes=self.notes, entities=self._entities(),
                        wanted=self.wanted, problem=self.problem, max_tests=_MAX_ASKED_TESTS,
                    )  # fmt: skip
                else:
                    tally = self.best.tally
                    tried = self._ask(
                        stage, "revise", code=self.best.code, passed=_passed(tally),
                        total=_total(tally), problems=tally.problems[:_MAX_TOLD],
                    )  # fmt: skip
                candidate = self._judge(stage, tried)
            if candidate is not None and (self.best is None or candidate.rank > self.best.rank):
                self._take(candidate)
            if self.best is not None and self._is_perfect(self.best.tally):
                return

    def simplify(self) -> None:
        """Have the best version made plainer, as long as nothing shows outside."""
        if self.best is None or not self._is_better(self.best.tally, self._of_blueprint()):
            return
        best, tests = self.best, (*(self.own or ()), *self.adversarial)
        with self._stage(Stage.SIMPLIFY):
            tried = self._ask(Stage.SIMPLIFY, "simplify", code=best.code)
            candidate = self._judge(Stage.SIMPLIFY, tried)
            if candidate is None:
                return
            is_plainer = _num_lines(candidate.code) < _num_lines(best.code)
            is_same = (
                candidate.described.code.shape.entities == best.described.code.shape.entities
                and candidate.tally.working == best.tally.working
                and candidate.rank >= best.rank
                and self._shapes(candidate, tests) == self._shapes(best, tests)
            )
        if is_plainer and is_same:
            self._take(candidate)

    def result(self, ended: str, stopped: Stopped | None) -> Authored:
        """Return the code where it is better than the blueprint, else the blueprint."""
        baseline, best = self._of_blueprint(), self.best
        is_better = best is not None and self._is_better(best.tally, baseline)
        if not self.wanted:
            reason = "best so far: blueprint (every tool is external: there is nothing to write)"
        elif best is None:
            problem = f": {self.problem}" if self.problem else ""
            reason = f"best so far: blueprint (no version of the code could be used{problem})"
        else:
            told = f"code has {_told(best.tally)}, the blueprint {_told(baseline)}"
            reason = told if is_better else f"best so far: blueprint (the best {told})"
        return Authored(
            service=self.spec.service,
            code=best.described.code if best is not None and is_better else None,
            seed=best.described.seed if best is not None and is_better else self.seed,
            reason=reason + (f"; it stopped early: {ended}" if ended else ""),
            stopped=stopped,
            blueprint=baseline,
            versions=tuple(self.versions),
            stages=FrozenDict(self.budget.stages),
        )

    def _judge(self, stage: Stage, tried: Tried) -> _Candidate | None:
        """Run all tests on a version; None when it is of no use, and `problem` says why."""
        self.budget.add(stage, versions=1)
        code = ""
        try:
            code = code_of(tried)
            if self.own is None:
                self.own = written_tests_of(tried, self.wanted)
            sources = {ENTRY: code}
            described = describe_sources(
                self.spec, sources, self.blueprint, self.seed, self.workers
            )
            world = build_code_world(
                self.spec, described.code, described.seed, GATE_NOW, self.workers
            )
            shape = described.code.shape
            judged = judge_world(self.spec, world, shape, self.own, self.adversarial)
        except (Unusable, SynthesisError) as error:
            self.problem = str(error)
            self.versions.append(
                Version(stage=stage, problem=self.problem[:600], lines=_num_lines(code))
            )
            return None
        kept = described.code.model_copy(update={"shape": judged.shape})
        self.versions.append(Version(stage=stage, tally=judged.tally, lines=_num_lines(code)))
        return _Candidate(code, Described(kept, described.seed), judged.tally)

    def _take(self, candidate: _Candidate) -> None:
        self.best = candidate
        self.versions[-1] = self.versions[-1].model_copy(update={"is_best": True})

    def _of_blueprint(self) -> Tally:
        if self.baseline is None:
            try:
                world = build_service_world(self.spec, self.blueprint, self.seed, GATE_NOW)
                judged = judge_world(self.spec, world, self.blueprint, (), self.adversarial)
                self.baseline = judged.tally
            except SynthesisError:
                self.baseline = Tally(adversarial_total=len(self.adversarial))
        return self.baseline

    def _is_perfect(self, tally: Tally) -> bool:
        is_whole = set(tally.working) >= set(self.wanted)
        return is_whole and not tally.gate_failures and _passed(tally) == _total(tally)

    @staticmethod
    def _is_better(code: Tally, blueprint: Tally) -> bool:
        """Own tests say nothing here: they came with the code."""
        return (len(code.working), code.adversarial_passed) > (
            len(blueprint.working),
            blueprint.adversarial_passed,
        )

    def _shapes(self, candidate: _Candidate, tests: tuple[WrittenTest, ...]) -> Mapping[str, Any]:
        code, seed = candidate.described.code, candidate.described.seed
        world = build_code_world(self.spec, code, seed, GATE_NOW, self.workers)
        return answer_shapes(world, self.spec.service, tests)

    def _ask(self, stage: Stage, prompt: str, **values: Any) -> Tried:
        text = _PROMPTS.render(prompt, **self._spec_values(), **values)
        return self.session.ask(stage, _PROMPTS.render("system_author"), text)

    def _spec_values(self) -> dict[str, Any]:
        tools = []
        for name, tool in sorted(self.spec.tools.items()):
            shown = {
                "name": name,
                "description": tool.description,
                "inputSchema": thaw(tool.input_schema),
            }
            if tool.output_schema is not None:
                shown["outputSchema"] = thaw(tool.output_schema)
            tools.append(shown)
        return {
            "title": self.spec.title or self.spec.service,
            "description": self.spec.description,
            "tools": tools,
        }

    def _entities(self) -> dict[str, Any]:
        return {
            table: {
                "key": entity.key,
                "fields": {
                    name: {
                        "type": item.type.value,
                        **({"values": list(item.enum)} if item.enum else {}),
                        **({"link": item.link} if item.link else {}),
                        **({"nullable": True} if item.nullable else {}),
                    }
                    for name, item in entity.fields.items()
                },
            }
            for table, entity in self.blueprint.entities.items()
        }

    @contextmanager
    def _stage(self, stage: Stage) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self.budget.add(stage, seconds=time.perf_counter() - start)


def _passed(tally: Tally) -> int:
    return tally.own_passed + tally.adversarial_passed


def _total(tally: Tally) -> int:
    return tally.own_total + tally.adversarial_total


def _num_lines(code: str) -> int:
    return sum(1 for line in code.splitlines() if line.strip())


def _told(tally: Tally) -> str:
    passed, total = tally.adversarial_passed, tally.adversarial_total
    return f"{len(tally.working)} working tools and {passed} of {total} adversarial tests"
