"""The system that a round works on: four components and the references that nobody owns."""

from __future__ import annotations

from pydantic import Field

from components.records.base import Record
from components.records.blueprint import Blueprint, SeedData
from components.records.code import CodeService
from components.records.frozen import FrozenDict
from components.records.harness import HarnessSettings
from components.records.rubric import EvaluatorSettings, Rubric
from components.records.spec import ServiceSpec
from components.records.task import Certificate, Task
from components.records.world import Reaction, WorldContract


class Environment(Record):
    """Tool effects, domain rules, errors, seed data and reactions."""

    blueprints: FrozenDict[str, Blueprint]
    """By service."""
    seeds: FrozenDict[str, SeedData]
    """By service."""
    reactions: FrozenDict[str, Reaction] = FrozenDict()
    code: FrozenDict[str, CodeService] = FrozenDict()
    """Services that are code. Their entities, and what is in quarantine, are in their blueprint:
    the code's shape, which has no effects of its own.
    """


class Evaluator(Record):
    """Settings and the rubric of each task."""

    settings: EvaluatorSettings = EvaluatorSettings()
    rubrics: FrozenDict[str, Rubric] = FrozenDict()
    """By task id."""


class Reference(Record):
    """What no patch and no fault may touch."""

    specs: FrozenDict[str, ServiceSpec]
    """By service."""
    contract: WorldContract = WorldContract()
    certificates: FrozenDict[str, Certificate] = FrozenDict()
    """By task id."""


class System(Record):
    """Everything that a rollout needs apart from the policy."""

    schema_version: int = Field(default=1, ge=1, le=1)
    environment: Environment
    tasks: FrozenDict[str, Task] = FrozenDict()
    harness: HarnessSettings
    evaluator: Evaluator = Evaluator()
    reference: Reference
    retired: FrozenDict[str, str] = FrozenDict()
    """Tasks taken out -> reason."""
