"""What a round would do, found out without doing it: nothing is started and nothing is written.

Refuses what the round would refuse, in the same words. What cannot be known before it runs (the
tools of servers that were never listed, seconds that no finished round tells) is left unknown.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from components.environment.catalog_loader import load_contract, load_reactions, load_service
from components.environment.recorded.teaching import read_lessons
from components.environment.sources.server_list import read_recorded_listings, read_server_list
from components.records.base import to_json
from components.records.frozen import FrozenDict
from components.records.rubric import EvaluatorSettings
from components.records.system import Environment, Evaluator, Reference, System
from components.records.trajectory import Trajectory
from components.task.compose import ComposedPair, ComposedTask, compose_task
from loop.composing import tasks_of, with_tasks
from loop.config import RunConfig, Sizes, sizes_of
from loop.context import live_tasks
from loop.dry_run.seconds import Expected, PastRound, expected_seconds, past_rounds
from loop.dry_run.tokens import TokensPerRollout, rehearse, tokens_of
from loop.growth.growing import most_live, num_new
from loop.growth.services import KEYS
from loop.growth.services import STAGE as SERVICES_STAGE
from loop.ledger import Ledger, RoundFolder, load_system
from loop.ledger_files import config_changes, refuse_locked
from loop.ledger_records import Manifest
from loop.policy.check import check_policy
from loop.policy.config import LocalPolicyConfig
from loop.seed_round import seed_harness
from loop.services import check_settings
from loop.train.stage import STAGE as TRAIN_STAGE
from loop.train.stage import kept_before

SEED_STAGES = ("services", "tasks", "faults")
ROUND_STAGES = ("grow", "rollout", "attribute", "repair", "reeval", "guard")
GROWING = ("grow", "rollout", "reeval")
"""Stages with more to do where tasks are added by rule, from round 2 on."""
MAX_PLAYED = 8
"""Tasks that are played in memory to estimate tokens."""
MAX_DRAFTS = 4
"""Tasks that are drafted in memory where there are none yet, for the same."""
MAX_READ = 64
"""Recorded rollouts that are read for the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedStage:
    """One stage of a round that is to be run."""

    round: int
    name: str
    is_done: bool
    work: str
    """What it works on, and how much of it is recorded already."""
    seconds: Expected | None
    """None: no finished round tells, or the stage is done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What `evolve` would do."""

    run: str
    number: int
    folder: Path
    state: str
    """`starts`, `resumes` or `is finished`."""
    policy: str
    samples: bool
    """Whether a model is asked; the scripted policy is a simulation."""
    services: tuple[str, ...]
    servers: tuple[str, ...]
    """MCP servers whose tools are not known before they are listed."""
    sizes: Sizes
    num_there: int
    """Live tasks that there are already."""
    audit_share: float
    tokens: TokensPerRollout | None
    stages: tuple[PlannedStage, ...]
    num_past: int
    """Finished rounds in this folder of runs."""

    @property
    def num_rollouts(self) -> int:
        """Rollouts of one pass."""
        return max(self.num_there, self.sizes.num_tasks) * self.sizes.group_size


def plan_round(config: RunConfig) -> Plan:
    """Return what a configuration's round would do.

    Raises:
        UserError: what the round would be refused for.
    """
    check_settings(config)
    ledger = Ledger(Path(config.runs_dir), config.run)
    number = ledger.next_round() if config.round is None else config.round
    ledger.refuse_gap(number)
    refuse_locked(ledger.folder / "lock", config.run)
    begun: dict[int, Manifest | None] = {}
    if number == 0 or not ledger.is_finished(0):
        begun[0] = ledger.check_round(0, config)
    if number:
        begun[number] = ledger.check_round(number, config) if ledger.is_finished(0) else None
    _check_kept_policy(config, ledger, number)
    with ExitStack() as stack:
        folders = {
            key: stack.enter_context(ledger.read_round(key))
            for key, manifest in begun.items()
            if manifest is not None and (ledger.round_path(key) / "units.sqlite").exists()
        }
        return _planned(config, ledger, number, begun, folders)


def stages_of(config: RunConfig, number: int) -> tuple[str, ...]:
    """Return the stages of a round, in order."""
    if not number:
        return SEED_STAGES
    return (*ROUND_STAGES, TRAIN_STAGE) if config.trains else ROUND_STAGES


def _check_kept_policy(config: RunConfig, ledger: Ledger, number: int) -> None:
    """Refuse where the policy that the rounds before have trained could not be opened."""
    is_open = number > 1 and not ledger.is_finished(number)
    if not is_open or not isinstance(config.policy, LocalPolicyConfig):
        return
    with ledger.read_round(number - 1) as before:
        kept = kept_before(before, number)
    if kept is not None:
        check_policy(config.policy.model_copy(update={"adapter": str(kept)}))


def _planned(
    config: RunConfig,
    ledger: Ledger,
    number: int,
    begun: dict[int, Manifest | None],
    folders: dict[int, RoundFolder],
) -> Plan:
    system = _system_at(ledger, number, folders)
    num_there = 0 if system is None else len(live_tasks(system))
    sizes, past = sizes_of(config), past_rounds(Path(config.runs_dir))
    work = _Work(config, sizes, num_there, past)
    stages = [
        work.stage(key, name, folders.get(key)) for key in begun for name in stages_of(config, key)
    ]
    if _names_other_services(config, ledger, number):
        at = next(at for at, item in enumerate(stages) if item.round == number)
        stages.insert(at, work.stage(number, SERVICES_STAGE, folders.get(number)))
    manifest = begun[number]
    is_finished = manifest is not None and manifest.status == "finished"
    has_begun = any(item is not None for item in begun.values())
    policy = config.policy
    known = config.environment.services if system is None else system.reference.specs
    return Plan(
        run=config.run,
        number=number,
        folder=ledger.round_path(number),
        state="is finished" if is_finished else "resumes" if has_begun else "starts",
        policy=str(getattr(policy, "model", None) or policy.kind),
        samples=policy.kind != "scripted",
        services=tuple(sorted(known)),
        servers=_servers(config) if system is None else (),
        sizes=sizes,
        num_there=num_there,
        audit_share=config.attribution.audit_share,
        tokens=None if is_finished or not number else _tokens(config, ledger, number, system),
        stages=tuple(stages),
        num_past=len(past),
    )


@dataclass(frozen=True, slots=True)
class _Work:
    """Says how much of each stage is left."""

    config: RunConfig
    sizes: Sizes
    num_there: int
    past: tuple[PastRound, ...]

    @property
    def num_growth(self) -> int:
        """How many tasks the rules may add to what there is, those that make room apart."""
        there = max(self.num_there, self.sizes.num_tasks)
        return max(0, min(num_new(self.config), most_live(self.config) - there))

    def stage(self, number: int, name: str, folder: RoundFolder | None) -> PlannedStage:
        is_done = folder is not None and folder.stage_result(name) is not None
        total, what = self._total(name)
        if number > 1 and name in GROWING and self.num_growth:
            more = self.num_growth * (1 if name == "grow" else self.sizes.group_size)
            what = f"{what}, and at most {more} by growth"
        done = 0 if folder is None else len(folder.units.keys(name))
        recorded = f", {done} recorded" if done and not is_done else ""
        if name in ("tasks", "grow", "repair"):  # what is recorded there is drafts, or tries
            recorded, done = recorded.replace("recorded", "drafts or tries recorded"), 0
        left = None if total is None else max(0, total - done)
        body = {**to_json(self.config), "num_tasks": self.sizes.num_tasks}
        # To grow is to make tasks, as the seed round does: its seconds tell what each one takes.
        like = "tasks" if name == "grow" and left else name
        seconds = None if is_done else expected_seconds(like, left, body, self.past)
        return PlannedStage(
            round=number, name=name, is_done=is_done, work=f"{what}{recorded}", seconds=seconds
        )

    def _total(self, name: str) -> tuple[int | None, str]:
        """Return the units of a stage, None where it has none to count, and words for them."""
        tasks = max(self.num_there, self.sizes.num_tasks)
        rollouts = tasks * self.sizes.group_size
        services = len(self.config.environment.services)
        missing = max(0, self.sizes.num_tasks - self.num_there)
        match name:
            case "services" if self.num_there:
                return None, "services that the configuration names since, through their gates"
            case "services":
                return services, f"{services} built-in services through their gates"
            case "tasks":
                return self.sizes.num_tasks, f"{self.sizes.num_tasks} tasks to certify"
            case "faults":
                return None, f"faults={self.config.faults.kind}"
            case "grow":
                drawn = missing if self.num_there else 0
                return drawn or None, f"{drawn} more tasks to certify"
            case "rollout" | "reeval":
                return rollouts, f"{rollouts} rollouts"
            case "attribute":
                return rollouts, f"at most {rollouts} verdicts"
            case "guard":
                return None, "pairs of outcomes, for each accepted patch"
            case "repair":
                return None, "failure modes, as many as are found"
            case _:
                return rollouts, f"at most {rollouts} trajectories to learn from"


def _system_at(ledger: Ledger, number: int, folders: dict[int, RoundFolder]) -> System | None:
    """Return the system that the round works on as far as there is one already."""
    if number in folders:
        manifest = folders[number].manifest
        if manifest.stages or manifest.system is not None:
            return load_system(ledger.store, folders[number].system_version())
        return None
    if not number or not ledger.is_finished(number - 1):
        return None
    with ledger.read_round(number - 1) as before:
        return load_system(ledger.store, before.system_version())


def _names_other_services(config: RunConfig, ledger: Ledger, number: int) -> bool:
    """Return whether a round reads sources again, since they are others than in the one before."""
    if not number or not ledger.is_finished(number - 1):
        return False
    changes = config_changes(ledger.config_of(number - 1), to_json(config))
    return any(change.key.startswith(KEYS) for change in changes)


def _servers(config: RunConfig) -> tuple[str, ...]:
    lessons = read_lessons(config.environment.recordings)
    listed = _listed_servers(config)
    return (*listed, *(name for name in sorted(lessons) if name not in listed))


def _listed_servers(config: RunConfig) -> tuple[str, ...]:
    if config.environment.mcp_config is None:
        return ()
    path = Path(config.environment.mcp_config)
    recorded = read_recorded_listings(path)
    if recorded is not None:
        return tuple(item.name for item in recorded)
    return tuple(item.name for item in read_server_list(path) if not item.disabled)


def _tokens(
    config: RunConfig, ledger: Ledger, number: int, system: System | None
) -> TokensPerRollout | None:
    if number > 1:
        recorded = _recorded(ledger, number - 1, config)
        if recorded:
            basis = f"{len(recorded)} rollouts that round {number - 1} recorded"
            return tokens_of(recorded, basis)
    source = "tasks of this system"
    if system is None or not system.tasks:
        system = _first_tasks(config)
        source = "tasks drafted for this, on the built-in services alone"
    chosen = live_tasks(system)[:MAX_PLAYED]
    played = rehearse(system, chosen)
    return tokens_of(played, f"{len(played)} {source}, played in memory without slips")


def _recorded(ledger: Ledger, number: int, config: RunConfig) -> list[Trajectory]:
    """Return rollouts of the last pass before, when the same policy played them."""
    with ledger.read_round(number) as folder:
        if ledger.config_of(number).get("policy") != to_json(config)["policy"]:
            return []
        keys = folder.units.keys("reeval")[:MAX_READ]
        return [folder.units.records("reeval", Trajectory, key)[key] for key in keys]


def _first_tasks(config: RunConfig) -> System:
    """Return the built-in services, without their gates, with the first tasks that are drawn."""
    loaded = {name: load_service(name) for name in config.environment.services}
    system = System(
        environment=Environment(
            blueprints=FrozenDict({name: item.blueprint for name, item in loaded.items()}),
            seeds=FrozenDict({name: item.seed for name, item in loaded.items()}),
            reactions=load_reactions(),
        ),
        harness=seed_harness(config),
        evaluator=Evaluator(settings=EvaluatorSettings()),
        reference=Reference(
            specs=FrozenDict({name: item.spec for name, item in loaded.items()}),
            contract=load_contract(),
        ),
    )
    base = config.seed * 1_000_003
    drafts = [
        compose_task(system, config.task, base + at)
        for at in range(min(MAX_DRAFTS, sizes_of(config).num_tasks))
    ]
    made = [
        item
        for draft in drafts
        if isinstance(draft, (ComposedTask, ComposedPair))
        for item in tasks_of(draft)
    ]
    return with_tasks(system, made)
