"""The configuration of every verb but those that play rounds or train, and the table of all.

`conf/` holds the values; nothing past this line sees Hydra.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from attribution.config import BenchFaultsConfig
from components.environment.config import EnvironmentConfig
from components.records.config import Config, PathText
from components.task.model_author.config import ComposedTaskConfig
from loop.compute.config import ComputeConfig
from loop.config import (
    EvaluateConfig,
    RunConfig,
    RunName,
    Scale,
    TextId,
    TrackingConfig,
    TrainConfig,
)
from loop.policy.config import PolicyConfig, ScriptedPolicyConfig

SUBJECTS = ("rollout", "task", "service", "patch", "graph")
"""What `show` can show."""


class BenchConfig(Config):
    """Keys of `bench`."""

    benchmark: Literal["attribution", "world", "specs", "fidelity", "tasks"]
    """Which benchmark; the word after `bench`."""
    path: PathText | None
    """specs: JSONL of many servers (or a saved listing) that is compiled; fidelity: YAML or JSON of
    disposable servers; null where not asked."""
    tasks: PathText | None
    """tasks: folder of a task set, as `compose` writes it; null: a set is composed, of a size that
    `scale` says."""
    labels: PathText | None
    """specs: JSONL of labelled tools (server, name, label) to hold readings against; null: none."""
    faults: BenchFaultsConfig
    """attribution: builtin, or a JSONL file of faults (docs/faults.md)."""
    kinds: Literal["all", "developed", "held_out"]
    """attribution: which of the built-in kinds are planted."""
    evidence: Literal["full", "schemas", "uncertified"]
    """attribution: what a verdict may lean on: full; schemas, where documentation writes nothing
    else; uncertified, where certificates hold no recorded run."""
    runs_dir: PathText = Field(min_length=1)
    """specs: folder whose store keeps what was compiled."""
    compute: ComputeConfig
    """specs, attribution and tasks: who works."""
    scale: Scale
    """How long it measures: smoke for seconds, small for a minute, full for a good figure; of
    fidelity, how many sequences are generated where none are given."""
    seed: int = Field(ge=0)
    """Seed of everything that is drawn."""
    out: PathText | None
    """File that the result is also written to, as JSON; null: none."""


class SynthesizeConfig(Config):
    """Keys of `synthesize`."""

    runs_dir: PathText = Field(min_length=1)
    """Folder whose store keeps what was compiled."""
    out: PathText | None
    """Folder that each service is written to; null: only the table is shown."""
    environment: EnvironmentConfig
    """Sources; built-in services are left out."""
    compute: ComputeConfig
    """Who compiles; changes no result."""


class ComposeConfig(Config):
    """Keys of `compose`."""

    run: RunName
    """Name of the set: its folder under `runs_dir`, where `out` names no other. In a sweep, each
    job adds 8 digits to it."""
    runs_dir: PathText = Field(min_length=1)
    """Folder of all runs, with the store of compiled services."""
    seed: int = Field(ge=0)
    """Seed of everything that is drawn."""
    out: PathText | None
    """Folder that the set is written to; null: `runs_dir`/`run`."""
    environment: EnvironmentConfig
    """Services."""
    task: ComposedTaskConfig
    """How many tasks, and what they look like; count null: 100."""
    compute: ComputeConfig
    """Who composes; changes no result."""


class CertifyConfig(Config):
    """Keys of `certify`."""

    tasks: PathText = Field(min_length=1)
    """Folder of a task set, as `compose` writes it; or somebody else's tasks: `tau2:retail`,
    `tau2:airline`, `bfcl:multi_turn` (or one category, `bfcl:multi_turn_base`), `FILE.jsonl`."""
    path: PathText | None
    """Checkout of somebody else's benchmark; null: what the interpreter has installed."""
    python: PathText | None
    """Interpreter that has somebody else's benchmark installed; null: this one."""
    replay: str | None
    """Name of one finding in somebody else's tasks, to be played again; null: find all."""
    compute: ComputeConfig
    """Who checks a folder; changes no result."""
    out: PathText | None
    """File that the result is also written to, as JSON; null: none."""


class RolloutVerbConfig(Config):
    """Keys of `rollout`."""

    tasks: PathText = Field(min_length=1)
    """Somebody else's tasks, as `certify` takes them: `tau2:retail`, `FILE.jsonl`, ..."""
    path: PathText | None
    """Checkout of the benchmark; null: what the interpreter has installed."""
    python: PathText | None
    """Interpreter that has the benchmark installed; null: this one."""
    policy: PolicyConfig
    """Who acts: a model; the scripted policy knows no foreign tasks."""
    count: int | None = Field(ge=1)
    """How many tasks are played, drawn with `seed`; null: all."""
    seed: int = Field(ge=0)
    """Seed of the drawn tasks and of sampling."""
    max_turns: int = Field(ge=1)
    """Messages of the policy in one episode."""
    max_user_turns: int = Field(ge=1)
    """Messages of the policy to the user in one episode."""
    max_turn_tokens: int = Field(ge=1)
    """Tokens that the policy may sample in one turn."""
    tool_style: Literal["json_schema", "signature", "compact"]
    """How tools are shown: whole JSON Schema, signature and description, or names alone."""
    concurrency: int = Field(ge=1)
    """Episodes in flight, where the policy waits for others."""
    out: PathText = Field(min_length=1)
    """File that the rollouts are written to, a line of chat messages each."""

    @model_validator(mode="after")
    def _a_model_acts(self) -> RolloutVerbConfig:
        if isinstance(self.policy, ScriptedPolicyConfig):
            raise ValueError(
                "policy=scripted plays tasks of its own alone; set policy=local or policy=openai"
            )
        return self


class CompareConfig(Config):
    """Keys of `compare`."""

    paths: tuple[PathText, ...] = Field(min_length=1)
    """Folders of runs (the last finished round counts) or rounds; the words after `compare`."""
    out: PathText | None
    """File that the comparison is also written to, as JSON; null: none."""


class DoctorConfig(Config):
    """Keys of `doctor`."""

    runs_dir: PathText = Field(min_length=1)
    """Folder of runs whose disk and rounds are looked at."""
    policy: PolicyConfig
    """Who is to act: what this policy needs must be there."""
    tracking: TrackingConfig
    """Where metrics are to go."""


class ShowConfig(Config):
    """Keys of `show`; exactly one of rollout, task, service, patch and graph is given."""

    rollout: TextId | None
    """Rollout to show turn by turn."""
    task: TextId | None
    """Task to show: instruction, walk, gold, rubric, certificate; with a slash, `FOLDER/ID` of a
    set that compose wrote."""
    service: TextId | None
    """Service to show: its tools and reactions; with a slash, a folder that synthesize wrote."""
    patch: TextId | None
    """Patch to show: what it changes, its replays, what became of it."""
    graph: PathText | None
    """Folder of a set that compose wrote, whose dependency graph is shown: what joins its tools."""
    start: TextId | None = Field(alias="from")
    """graph: `service.tool` whose edges out are shown, or where a chain begins; null: none."""
    to: TextId | None
    """graph: `service.tool` whose edges in are shown, or where a chain ends; null: none."""
    out: PathText | None
    """graph, and task of a set: file that a picture is written to, as HTML; null: none."""
    run: RunName
    """Name of the run."""
    runs_dir: PathText = Field(min_length=1)
    """Folder of all runs."""
    round: int | None = Field(ge=0)
    """Round to look into; null: the last that is finished."""
    stage: Literal["rollout", "reeval"]
    """Pass that a rollout is shown of: before or after the patches of its round."""

    @model_validator(mode="after")
    def _one_subject(self) -> ShowConfig:
        given = [name for name in SUBJECTS if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(
                f"show needs exactly one of {', '.join(SUBJECTS)} (got {', '.join(given) or 'none'}"
                f"); write python -m loop show {given[0] if given else 'task'}=ID"
            )
        if self.graph is None and (self.start is not None or self.to is not None):
            key = "to" if self.start is None else "from"
            raise ValueError(f"{key} is for graph=FOLDER (got {given[0]}); drop {key}")
        has_picture = self.graph is not None or (self.task is not None and "/" in self.task)
        if self.out is not None and not has_picture:
            raise ValueError(
                f"out is for graph=FOLDER and task=FOLDER/ID (got {given[0]}); drop out"
            )
        return self


class AttributeConfig(Config):
    """Keys of `attribute`: of a round, or of traces that were made elsewhere."""

    run: RunName
    """Name of the run."""
    runs_dir: PathText = Field(min_length=1)
    """Folder of all runs."""
    round: int | None = Field(ge=0)
    """Finished round whose rollouts are judged again; null: the last that is finished."""
    rollout: TextId | None
    """One rollout to judge; null: all that the round has judged."""
    traces: PathText | None
    """File of traces made elsewhere, to be judged by what they show; null: a round is judged."""
    format: Literal["openai", "otel", "tau2"] | None
    """What the traces are: OpenAI chat messages (JSON lines), OpenTelemetry GenAI spans (JSON
    lines), tau2 results (JSON); null: what the file looks like."""
    tasks: PathText | None
    """Benchmark that the traces' tasks are of (as `certify` takes it: `tau2:retail`, `FILE.jsonl`),
    to play them again in; tasks that a tau2 file carries are played; null: nothing is played."""
    path: PathText | None
    """Checkout of that benchmark; null: what the interpreter has installed."""
    python: PathText | None
    """Interpreter that has that benchmark installed; null: this one."""
    out: PathText | None
    """File that the verdicts are also written to, as JSON; with traces a folder, which also gets a
    drafted task for each failure; null: none."""
    compute: ComputeConfig
    """Who judges; changes no result."""

    @model_validator(mode="after")
    def _one_source(self) -> AttributeConfig:
        if self.traces is None and self.format is not None:
            raise ValueError(
                f"format is of a file of traces (got format={self.format} and no traces); "
                "add traces=FILE or drop it"
            )
        for key in ("tasks", "path", "python"):
            needed = "traces" if key == "tasks" else "tasks"
            if getattr(self, key) is not None and getattr(self, needed) is None:
                raise ValueError(
                    f"{key} needs {needed} (got {key}={getattr(self, key)} and no {needed}); add "
                    f"{needed}=... or drop it"
                )
        if self.traces is not None and (self.round is not None or self.rollout is not None):
            key = "rollout" if self.rollout is not None else "round"
            raise ValueError(f"traces are of no round (got {key} too); drop {key} or traces")
        return self


class SwapConfig(Config):
    """Keys under `swap`: a version each, as the number of the round that left it or the first
    digits of its hash; at most one is given."""

    environment: TextId | None
    """Version of the environment to play on; null: the rollout's own."""
    task: TextId | None
    """Version of the tasks; null: the rollout's own."""
    harness: TextId | None
    """Version of the harness; null: the rollout's own."""
    evaluator: TextId | None
    """Version of the evaluator; null: the rollout's own."""

    @model_validator(mode="after")
    def _at_most_one(self) -> SwapConfig:
        given = [f"swap.{name}" for name, named in self if named is not None]
        if len(given) > 1:
            raise ValueError(
                f"one component is swapped at a time (got {', '.join(given)}); keep one of them"
            )
        return self


class ReplayConfig(Config):
    """Keys of `replay`."""

    rollout: TextId
    """Rollout to play again."""
    run: RunName
    """Name of the run."""
    runs_dir: PathText = Field(min_length=1)
    """Folder of all runs."""
    round: int | None = Field(ge=0)
    """Finished round that the rollout is of; null: the last that is finished."""
    stage: Literal["rollout", "reeval"]
    """Pass that the rollout is of: before or after the patches of its round."""
    from_call: int | None = Field(ge=0)
    """Call (from 0, over all turns) with whose turn the oracle takes over; null: after all recorded
    texts."""
    swap: SwapConfig
    """The component that is swapped; none: the same system again."""


class ReviewConfig(Config):
    """Keys of `accept` and of `reject`."""

    patch: TextId | None
    """Patch that waits (attribution.accept=review); null: the line says which do."""
    reason: str | None
    """Why, to be recorded; null: nothing is said."""
    run: RunName
    """Name of the run."""
    runs_dir: PathText = Field(min_length=1)
    """Folder of all runs."""


MODELS: dict[str, type[Config]] = {
    model.__name__: model
    for model in (
        AttributeConfig, BenchConfig, CertifyConfig, CompareConfig, ComposeConfig, DoctorConfig,
        EvaluateConfig, ReplayConfig, ReviewConfig, RolloutVerbConfig, RunConfig, ShowConfig,
        SynthesizeConfig, TrainConfig,
    )
}  # fmt: skip
"""Configuration of a verb, by the name that `loop.verbs` gives."""
