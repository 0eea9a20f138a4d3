"""The author's prompts, from the Jinja2 files of `prompts/`.

An immutable sandboxed environment, in which a missing name is an error. Specifications, server
sources, code and failures are values, never templates.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment

from components.errors import SynthesisError, boundary

FOLDER = Path(__file__).resolve().parent / "prompts"


def render_prompt(name: str, **values: Any) -> str:
    """Return one prompt.

    Args:
        name: file of `prompts/`, without its ending.
        values: what the file speaks of; JSON values, texts and lists of them.

    Raises:
        SynthesisError: the file is wrong, or speaks of something that was not given.
    """
    with boundary(SynthesisError, f"render the author's prompt {name}"):
        return _ENVIRONMENT.get_template(f"{name}.j2").render(**values)


def _environment() -> ImmutableSandboxedEnvironment:
    environment = ImmutableSandboxedEnvironment(
        loader=jinja2.FileSystemLoader(FOLDER),
        undefined=jinja2.StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["tojson"] = _plain_json
    return environment


def _plain_json(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


_ENVIRONMENT = _environment()
