"""A service as `show` looks at it: of a round, or of a folder that `synthesize` has written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from components.environment.sources.documents import first_problem
from components.errors import ConfigError
from components.records.base import Record
from components.records.blueprint import Blueprint, SeedData
from components.records.code import CodeService
from components.records.frozen import freeze
from components.records.spec import ServiceSpec
from components.records.world import Reaction
from loop.ledger_files import read_object
from loop.show.seen import Seen

RecordT = TypeVar("RecordT", bound=Record)
_MEND = "synthesize its source again with the same out"


@dataclass(frozen=True, slots=True, kw_only=True)
class Viewed:
    """What there is to know of one service."""

    name: str
    where: str
    """The round or the folder, in words."""
    runs_dir: Path
    """Folder of all runs, with the store of compilations."""
    spec: ServiceSpec
    blueprint: Blueprint
    seed: SeedData | None = None
    code: CodeService | None = None
    why: Mapping[str, str] = field(default_factory=dict)
    """Tool -> what decided on it, as the folder says; empty for a round."""
    reactions: Mapping[str, Reaction] = field(default_factory=dict)
    patches: tuple[str, ...] = ()
    """A line on each patch of the round that was tried on it."""


def of_round(seen: Seen, name: str) -> Viewed:
    """Return a service as the first pass of a round saw it."""
    system = seen.before
    artifacts = (f"blueprint/{name}", f"seed/{name}")
    return Viewed(
        name=name,
        where=seen.where,
        runs_dir=seen.runs_dir,
        spec=system.reference.specs[name],
        blueprint=system.environment.blueprints[name],
        seed=system.environment.seeds.get(name),
        code=system.environment.code.get(name),
        reactions=system.environment.reactions,
        patches=tuple(line for artifact in artifacts for line in seen.patches_of(artifact)),
    )


def of_folder(home: Path, runs_dir: Path) -> Viewed:
    """Return a service that `synthesize` wrote.

    Args:
        home: its folder.
        runs_dir: folder of all runs.

    Raises:
        ConfigError: it is no such folder, or a file in it is no such record.
    """
    if not (home / "spec.json").is_file():
        inside = sorted(path.parent.name for path in home.glob("*/spec.json"))
        mend = (
            f"it holds {', '.join(inside[:3])}; name one: service={home / inside[0]}"
            if inside
            else "name a folder of one service that synthesize wrote with out"
        )
        raise ConfigError(f"service: {home} has no spec.json; {mend}")
    spec = _record(home / "spec.json", ServiceSpec)
    code = home / "code.json"
    return Viewed(
        name=spec.service,
        where=f"folder {home}",
        runs_dir=runs_dir,
        spec=spec,
        blueprint=_record(home / "blueprint.json", Blueprint),
        seed=_record(home / "seed.json", SeedData),
        code=_record(code, CodeService) if code.is_file() else None,
        why={tool: str(line) for tool, line in read_object(home / "tools.json", _MEND).items()},
    )


def _record(path: Path, model: type[RecordT]) -> RecordT:
    try:
        return model.model_validate(freeze(read_object(path, _MEND)))
    except ValidationError as error:
        place, problem = first_problem(error)
        raise ConfigError(f"{path}: {place}: {problem}; {_MEND}") from error
