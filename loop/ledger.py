"""Runs and their rounds on disk: what is done stays done, and nothing is silently done otherwise.

Owns `<runs_dir>/<run>/round-NNNN/`: `config.json` (fixed once the round has started),
`manifest.json` (stages that are finished, each with its result's hash), `units.sqlite` (units
inside a stage), `timing.json` (seconds, apart from everything that is hashed). Results lie in the
store. Refuses: a gap between rounds, a changed configuration, a second driver, and files that are
damaged. Knows nothing of what a stage does.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from attribution.meter import Cost
from components.artifacts import (
    artifacts_of,
    component_versions,
    reference_artifacts,
    system_from_artifacts,
)
from components.errors import LedgerError
from components.records.base import Record, hash_record, to_json
from components.records.frozen import FrozenDict, freeze
from components.records.patch import Component
from components.records.system import System
from loop.config import STORE_FOLDER
from loop.ledger_files import (
    NO_EFFECT,
    config_changes,
    damaged,
    locked,
    pretty_json,
    read_object,
    read_sealed,
    settings_hash,
    shown_change,
    write_file,
    write_sealed,
)
from loop.ledger_records import (
    Change,
    Manifest,
    StageRecord,
    SystemVersion,
    system_after,
    versions_after,
)
from loop.store import Store
from loop.units import UnitLog

_COST = "interventions"
"""Key of `timing.json` that is no stage: what the verdicts took."""

UNITS_OF_STAGES = {"rollouts": "", "scores": ".score", "verdicts": "", "decisions": ""}
"""Key of a stage's result that holds the content hashes of its units -> what follows the stage's
name in theirs. A stage that drafts tells how many there are, as `drafted`."""

MOST_SHOWN = 5
"""Changed keys that one line names."""

Compute = Callable[[], Any]
"""Computes a stage's result, a JSON body."""


class Ledger:
    """The rounds of one run. Costs nothing to make; `locked` and `open_round` touch the disk."""

    def __init__(self, runs_dir: Path, run: str) -> None:
        self.run = run
        self.folder = runs_dir / run
        self.store = Store(runs_dir / STORE_FOLDER)

    def round_path(self, number: int) -> Path:
        """Return a round's folder, whether it is there or not."""
        return self.folder / f"round-{number:04d}"

    def manifest(self, number: int) -> Manifest | None:
        """Return a round's manifest, or None when the round has not started.

        Raises:
            LedgerError: the file is damaged.
        """
        path = self.round_path(number) / "manifest.json"
        return read_sealed(path, Manifest) if path.exists() else None

    def is_finished(self, number: int) -> bool:
        """Return whether a round has run to its end."""
        manifest = self.manifest(number)
        return manifest is not None and manifest.status == "finished"

    def next_round(self) -> int:
        """Return the first round from 1 on that is not finished (round 0 is built on the way)."""
        number = 1
        while self.is_finished(number):
            number += 1
        return number

    def refuse_gap(self, number: int) -> None:
        """Raise when an earlier round is not finished, round 0 apart: it is built when missing.

        Raises:
            LedgerError: names the first round to run.
        """
        for earlier in range(1, number):
            if not self.is_finished(earlier):
                raise LedgerError(
                    f"round {number} cannot start: round {earlier} of run '{self.run}' "
                    f"is not finished; run +round={earlier} first"
                )

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Be the only driver of this run. The lock goes with the process, however it ends.

        Raises:
            LedgerError: another process drives this run.
        """
        with locked(self.folder / "lock", self.run):
            yield

    @contextmanager
    def open_round(self, number: int, config: Record) -> Iterator[RoundFolder]:
        """Start a round, resume it, or recognise that it is finished. Hold `locked` around it.

        Args:
            number: the round.
            config: the whole configuration; kept in the folder when the round starts.

        Raises:
            LedgerError: an earlier round is not finished, the round started with another
                configuration, or a file is damaged. Nothing is changed.
        """
        manifest = self.check_round(number, config)
        path = self.round_path(number)
        if manifest is None:
            manifest = self._first_manifest(number, config)
            write_file(path / "config.json", pretty_json(to_json(config)), point="config")
            write_sealed(path / "manifest.json", manifest, point="manifest")
        for leftover in path.glob(".*.tmp"):  # of a process that was killed while it wrote
            try:
                leftover.unlink()
            except OSError as error:
                mend = "remove it, then run the same command again"
                raise damaged(leftover, error.strerror or str(error), mend) from error
        with UnitLog(path / "units.sqlite") as units:
            yield RoundFolder(path, self.store, manifest, units)

    def check_round(self, number: int, config: Record) -> Manifest | None:
        """Return the manifest of a round that has begun, or None; writes nothing.

        Args:
            number: the round.
            config: the whole configuration.

        Raises:
            LedgerError: `open_round` would refuse this round with this configuration.
        """
        self.refuse_gap(number)
        self.refuse_broken_chain(number - 1)
        if number and not self.is_finished(number - 1):
            raise LedgerError(
                f"round {number} cannot start: round 0 of run '{self.run}' is not finished; "
                "run +round=0 first"
            )
        if not self.has_begun(number):
            return None
        manifest = self.manifest(number)
        assert manifest is not None
        self._refuse_changed_config(number, manifest, config)
        self.refuse_broken_chain(number)
        self.refuse_lost_units(number)
        return manifest

    @contextmanager
    def read_round(self, number: int) -> Iterator[RoundFolder]:
        """Look into a round that has begun, finished or not; nothing is written, nor locked.

        Raises:
            LedgerError: the round is not there, or a file of it is damaged.
        """
        path, manifest = self.round_path(number), self.manifest(number)
        is_there = (path / "units.sqlite").exists() or self.has_begun(number)
        if manifest is None or not is_there:
            raise LedgerError(f"{path} holds no round; run +round={number} first")
        self.refuse_lost_units(number)
        with UnitLog(path / "units.sqlite", read_only=True) as units:
            yield RoundFolder(path, self.store, manifest, units)

    def config_of(self, number: int) -> dict[str, Any]:
        """Return the configuration that a round started with.

        Raises:
            LedgerError: it is missing, or not what the round started with.
        """
        manifest = self.manifest(number)
        if manifest is None:
            raise damaged(self.round_path(number), "there is no manifest.json")
        return self._config_of(number, manifest)

    def has_begun(self, number: int) -> bool:
        """Return whether a round has done anything; until then its configuration is not fixed.

        Raises:
            LedgerError: the manifest is damaged, or is gone while what it stood for is there.
        """
        manifest, path = self.manifest(number), self.round_path(number)
        if manifest is not None and (manifest.stages or manifest.status == "finished"):
            return True
        if not (path / "units.sqlite").exists():
            return False
        with UnitLog(path / "units.sqlite", read_only=True) as units:
            if manifest is None and not units.is_empty:
                raise damaged(path, "there is no manifest.json")
            return not units.is_empty

    def refuse_lost_units(self, number: int) -> None:
        """Raise unless the units of a round's finished stages are those that they ended with.

        Raises:
            LedgerError: a unit is missing, is another, or is one too many.
        """
        manifest = self.manifest(number)
        with UnitLog(self.round_path(number) / "units.sqlite", read_only=True) as units:
            for stage in manifest.stages if manifest else ():
                result = self.store.get(stage.result)
                for key, suffix in UNITS_OF_STAGES.items():
                    if isinstance(result, dict) and key in result:
                        units.refuse_other_units(f"{stage.name}{suffix}", result[key])
                num_drafts = result.get("drafted", 0) if isinstance(result, dict) else 0
                units.refuse_fewer_units(stage.name, num_drafts)

    def refuse_broken_chain(self, last: int) -> None:
        """Raise when a round up to `last` was made after another one than stands before it.

        Raises:
            LedgerError: names the round.
        """
        for number in range(1, last + 1):
            manifest, parent = self.manifest(number), self.manifest(number - 1)
            if manifest and parent and manifest.parent != hash_record(parent):
                raise LedgerError(
                    f"{self.round_path(number) / 'manifest.json'} was made after another round "
                    f"{number - 1} than the one that is there; restore "
                    f"{self.round_path(number - 1)} from a copy, or give run= another name"
                )

    def _config_of(self, number: int, manifest: Manifest) -> dict[str, Any]:
        path = self.round_path(number) / "config.json"
        body = read_object(path)
        if settings_hash(body) != manifest.config:
            raise damaged(path, "it is not what the round started with")
        return body

    def _refuse_changed_config(self, number: int, manifest: Manifest, config: Record) -> None:
        before, now = self._config_of(number, manifest), to_json(config)
        other = sorted(set(before) - set(now) - {*NO_EFFECT})
        lacking = sorted(set(now) - set(before) - {*NO_EFFECT})
        if other or lacking:
            with_, without = ", ".join(other) or "none", ", ".join(lacking) or "none"
            raise LedgerError(
                f"round {number} of run '{self.run}' was started by another verb (of its groups "
                f"of keys this one has not: {with_}; it lacks: {without}); give run= another name"
            )
        changes = config_changes(before, now)
        if changes:
            listed = ", ".join(shown_change(change) for change in changes[:MOST_SHOWN])
            if len(changes) > MOST_SHOWN:
                listed += f", and {len(changes) - MOST_SHOWN} more keys"
            raise LedgerError(
                f"round {number} of run '{self.run}' started with another configuration "
                f"({listed}); "
                f"use the old values, or give run= another name"
            )

    def _first_manifest(self, number: int, config: Record) -> Manifest:
        body = to_json(config)
        parent = self.manifest(number - 1) if number else None
        changes: tuple[Change, ...] = ()
        if parent is not None:
            changes = config_changes(self._config_of(number - 1, parent), body)
        return Manifest(
            round=number,
            parent=None if parent is None else hash_record(parent),
            seed=int(body.get("seed", 0)),
            config=settings_hash(body),
            config_changes=changes,
            system=None if parent is None else system_after(parent),
            versions=FrozenDict() if parent is None else versions_after(parent),
        )


class RoundFolder:
    """One round that is open: its stages and units. Made by `Ledger.open_round`."""

    def __init__(self, path: Path, store: Store, manifest: Manifest, units: UnitLog) -> None:
        self.path = path
        self.store = store
        self.units = units
        self._manifest = manifest

    @property
    def manifest(self) -> Manifest:
        """The manifest as it is on disk."""
        return self._manifest

    @property
    def is_finished(self) -> bool:
        """Whether the round has run to its end."""
        return self._manifest.status == "finished"

    def stage_result(self, name: str) -> Any:
        """Return a finished stage's result; None when it is not finished."""
        record = self._record_of(name)
        return None if record is None else self.store.get(record.result)

    def earlier_result(self, number: int, name: str) -> Any:
        """Return the result of a stage of an earlier, or this, finished round of the run.

        None when the round had no such stage.
        """
        manifest = read_sealed(self.earlier_path(number) / "manifest.json", Manifest)
        record = next((item for item in manifest.stages if item.name == name), None)
        return None if record is None else self.store.get(record.result)

    def earlier_path(self, number: int) -> Path:
        """Return the folder of another round of the run."""
        return self.path.parent / f"round-{number:04d}"

    def system_version(self) -> SystemVersion:
        """Return the version of the system after the last finished stage.

        Raises:
            LedgerError: no stage has made a system yet, or the store is damaged.
        """
        key = system_after(self._manifest)
        if key is None:
            raise LedgerError(f"{self.path} holds no system yet; run +round=0 first")
        return SystemVersion.model_validate(freeze(self.store.get(key)))

    def run_stage(self, name: str, compute: Compute) -> Any:
        """Return a stage's result: from the store when it is finished, computed and kept otherwise.

        What is returned is read back from canonical JSON either way, so that a resumed round and
        one that was never interrupted see the same values.

        Args:
            name: the stage; once in a round.
            compute: gives the result, a JSON body. Under the key `system` it may hold a
                `SystemVersion` as JSON: the system as this stage leaves it.
        """
        record = self._record_of(name)
        if record is not None:
            return self.store.get(record.result)
        assert not self.is_finished, f"round is finished; stage {name!r} is not part of it"
        started = time.perf_counter()
        body = compute()
        result = self.store.put(body)
        before, after = system_after(self._manifest), system_after(self._manifest)
        versions_in = versions_out = versions_after(self._manifest)
        if isinstance(body, dict) and body.get("system") is not None:
            version = SystemVersion.model_validate(freeze(body["system"]))
            after, versions_out = self.store.put(to_json(version)), version.versions
        record = StageRecord(
            name=name,
            system_in=before,
            system_out=after,
            versions_in=versions_in,
            versions_out=versions_out,
            result=result,
        )
        self._keep_timing({name: round(time.perf_counter() - started, 3)})
        self._write(self._manifest.model_copy(update={"stages": (*self._manifest.stages, record)}))
        return self.store.get(result)

    def finish(self) -> None:
        """Mark the round as run to its end; from now on it is never run again."""
        if not self.is_finished:
            self._write(self._manifest.model_copy(update={"status": "finished"}))

    def seconds(self) -> dict[str, float]:
        """Return the seconds that each stage took when it was computed last."""
        return {name: value for name, value in self._timing().items() if name != _COST}

    def cost(self) -> FrozenDict[str, Cost]:
        """Return what the verdicts took by intervention, of the start that judged the last one."""
        body = self._timing().get(_COST, {})
        try:
            return FrozenDict({name: Cost.model_validate(item) for name, item in body.items()})
        except (ValidationError, AttributeError) as error:
            raise LedgerError(
                f"{self.path / 'timing.json'}: {_COST!r} is damaged; remove the file, the seconds "
                "in it are lost"
            ) from error

    def keep_cost(self, cost: FrozenDict[str, Cost]) -> None:
        """Keep what verdicts took, beside the seconds."""
        self._keep_timing({_COST: {name: to_json(item) for name, item in cost.items()}})

    def _record_of(self, name: str) -> StageRecord | None:
        return next((stage for stage in self._manifest.stages if stage.name == name), None)

    def _write(self, manifest: Manifest) -> None:
        write_sealed(self.path / "manifest.json", manifest, point="manifest")
        self._manifest = manifest

    def _timing(self) -> dict[str, Any]:
        path = self.path / "timing.json"
        return read_object(path, "remove it; the seconds in it are lost") if path.exists() else {}

    def _keep_timing(self, more: dict[str, Any]) -> None:
        timing = {**self._timing(), **more}
        write_file(self.path / "timing.json", pretty_json(timing), point="timing")


def save_system(store: Store, system: System) -> SystemVersion:
    """Keep every artifact of a system and return which they are."""
    artifacts = {kind.value: _put_all(store, artifacts_of(system, kind)) for kind in Component}
    version = SystemVersion(
        components=FrozenDict(artifacts),
        reference=_put_all(store, reference_artifacts(system)),
        versions=component_versions(system),
    )
    store.put(to_json(version))
    return version


def load_system(store: Store, version: SystemVersion) -> System:
    """Return the system of a version.

    Raises:
        LedgerError: an artifact is missing, damaged, or no longer valid.
    """
    components = {kind: _get_all(store, version.components[kind.value]) for kind in Component}
    try:
        return system_from_artifacts(components, _get_all(store, version.reference))
    except ValueError as error:
        line = str(error).splitlines()[0]
        raise LedgerError(f"system {hash_record(version)[:12]} cannot be read ({line})") from error


def _put_all(store: Store, artifacts: dict[str, Any]) -> FrozenDict[str, str]:
    return FrozenDict({name: store.put(artifacts[name]) for name in sorted(artifacts)})


def _get_all(store: Store, hashes: FrozenDict[str, str]) -> dict[str, Any]:
    return {name: store.get(hashes[name]) for name in sorted(hashes)}
