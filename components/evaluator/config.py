"""The evaluator's one knob."""

from __future__ import annotations

from pydantic import Field

from components.records.config import Config


class EvaluatorConfig(Config):
    """Keys under `evaluator`."""

    completion_lambda: float = Field(ge=1e-6, le=1e6, allow_inf_nan=False)
    """Lambda of the completion-focused reward: weight that a criterion keeps when all siblings meet
    it."""
