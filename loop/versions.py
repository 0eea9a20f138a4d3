"""Versions of components as the ledger names them: by content hash, or by the round that left
them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from components.errors import ConfigError
from components.records.frozen import freeze
from components.records.patch import Component
from components.records.system import System
from loop.ledger import Ledger, load_system
from loop.ledger_records import Manifest, SystemVersion, system_after
from loop.looking import rounds_of

_FEWEST_DIGITS = 6
"""Hex digits that name a version, at least."""
_ROUND_DIGITS = 4
"""A number of at most so many digits is a round."""
_SHOWN = 6
"""Versions that one line lists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """One version of a component."""

    component: Component
    digest: str
    """Its content hash, 64 hex digits."""
    round: int
    """First round in which it is found."""
    system: System
    """A system that has it."""


def find_version(ledger: Ledger, component: Component, named: str) -> Version:
    """Return the version of a component that is meant.

    Args:
        ledger: of the run.
        component: whose.
        named: number of a round (the version that it left), or the first digits of a hash.

    Raises:
        ConfigError: there is no such version, or there are several.
        LedgerError: what is recorded cannot be read.
    """
    key = f"swap.{component.value}"
    if named.isdecimal() and len(named) <= _ROUND_DIGITS:
        return _of_round(ledger, component, int(named), key)
    there: dict[str, tuple[int, SystemVersion]] = {}
    for number, version in _versions(ledger):
        there.setdefault(version.versions[component.value], (number, version))
    digits = named.lower()
    found = [digest for digest in there if digest.startswith(digits)]
    if len(digits) < _FEWEST_DIGITS or len(found) != 1:
        why = (
            f"needs {_FEWEST_DIGITS} digits of a hash or a round's number"
            if len(digits) < _FEWEST_DIGITS
            else f"names {len(found)} versions of run '{ledger.run}'"
        )
        listed = [f"{digest[:12]} (round {number})" for digest, (number, _) in there.items()]
        more = f" and {len(listed) - _SHOWN} more" if len(listed) > _SHOWN else ""
        raise ConfigError(
            f"{key} {why} (got '{named}'); there are {', '.join(listed[:_SHOWN])}{more}"
        )
    number, version = there[found[0]]
    system = load_system(ledger.store, version)
    return Version(component=component, digest=found[0], round=number, system=system)


def _of_round(ledger: Ledger, component: Component, number: int, key: str) -> Version:
    manifest = ledger.manifest(number)
    last = None if manifest is None else system_after(manifest)
    if last is None:
        listed = ", ".join(map(str, rounds_of(ledger)))
        raise ConfigError(
            f"{key} names round {number}, which run '{ledger.run}' has not got; set it to one of "
            f"{listed}, or to the first digits of a version"
        )
    version = _read(ledger, last)
    return Version(
        component=component,
        digest=version.versions[component.value],
        round=number,
        system=load_system(ledger.store, version),
    )


def _versions(ledger: Ledger) -> Iterator[tuple[int, SystemVersion]]:
    """Yield every system that the rounds of a run have recorded, with the round, in order."""
    seen: set[str] = set()
    for number in rounds_of(ledger):
        manifest = ledger.manifest(number)
        for digest in () if manifest is None else _systems(manifest):
            if digest not in seen:
                seen.add(digest)
                yield number, _read(ledger, digest)


def _systems(manifest: Manifest) -> list[str]:
    found = [manifest.system]
    for stage in manifest.stages:
        found += [stage.system_in, stage.system_out]
    return [digest for digest in found if digest is not None]


def _read(ledger: Ledger, digest: str) -> SystemVersion:
    return SystemVersion.model_validate(freeze(ledger.store.get(digest)))
