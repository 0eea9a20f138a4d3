"""How many tasks a system has, and what they look like."""

from __future__ import annotations

from pydantic import Field, model_validator

from components.records.config import Config


class TaskConfig(Config):
    """Keys under `task`."""

    count: int | None = Field(ge=1)
    """Tasks in the system; null: what `scale` says."""
    k: int = Field(ge=1)
    """Services that a task needs (K)."""
    walk_length: int = Field(ge=2)
    """Calls of a task's gold solution (L), where a write for every row of a list counts once; more
    than `k`, so that one service is visited again.
    """
    distractors: int = Field(ge=0)
    """Services that are in a task's world and not needed; fewer where the system has no more."""
    domains: tuple[str, ...]
    """Domains of services (support, people, ...), or services, that tasks may be about; empty:
    all."""
    multi_turn: float = Field(default=0.0, ge=0, le=1)
    """Share of drafts whose request a simulated user says bit by bit, in a conversation; 0: every
    request is said at once."""
    implicit: float = Field(default=0.0, ge=0, le=1)
    """How far requests are taken from the explicit form to the one that people use: the share of
    its names that have to be looked up, and of its sentences that join others. What is looked up
    comes on top of walk_length; 0: every request is explicit."""
    policies: float = Field(default=0.0, ge=0, le=1)
    """Share of drafts that become a pair of tasks under policy rules: the same words in two worlds
    that differ in one fact; one must be done, the other refused, or done as a rule allows. A pair
    counts as two tasks, and its request is said at once. 0: no task tells rules."""
    max_drafts_per_task: int = Field(ge=1)
    """Drafts tried for each task that is to be admitted, before composing stops with a message."""

    @model_validator(mode="after")
    def _walk_is_longer_than_k(self) -> TaskConfig:
        if self.walk_length <= self.k:
            raise ValueError(
                f"task.walk_length must be > task.k (got {self.walk_length} and {self.k}): one "
                "service is "
                f"visited again; set task.walk_length={self.k + 1} or more, or a smaller task.k"
            )
        return self
