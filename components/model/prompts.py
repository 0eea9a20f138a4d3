"""Prompts from Jinja2 files beside the code that asks.

An immutable sandboxed environment, in which a missing name is an error. Specifications, artifacts,
code and failures are values, never templates.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment

from components.errors import SynthesisError, boundary


class Prompts:
    """The prompts of one folder; they are read when they are first asked for."""

    def __init__(self, folder: Path) -> None:
        """Args: folder: where the `.j2` files are."""
        self._environment = ImmutableSandboxedEnvironment(
            loader=jinja2.FileSystemLoader(folder),
            undefined=jinja2.StrictUndefined,
            autoescape=False,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.filters["tojson"] = _plain_json

    def render(self, name: str, **values: Any) -> str:
        """Return one prompt.

        Args:
            name: file of the folder, without its ending.
            values: what the file speaks of; JSON values, texts and lists of them.

        Raises:
            SynthesisError: the file is wrong, or speaks of something that was not given.
        """
        with boundary(SynthesisError, f"render the prompt {name}"):
            return self._environment.get_template(f"{name}.j2").render(**values)


def _plain_json(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)
