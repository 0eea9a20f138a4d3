"""Rounds on disk: resumed, never repeated, never with a gap, another configuration or a second
driver."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from attribution.meter import Cost
from components.errors import LedgerError
from components.records.base import Record, hash_record, to_json
from components.records.frozen import FrozenDict, JsonValue, content_hash
from loop.config import RunConfig
from loop.ledger import Ledger, load_system, save_system
from loop.ledger_files import config_changes, read_object, refuse_locked
from loop.store import Store
from tests.loop.configs import run_config
from tests.loop.toy_round import toy_system

ROOT = Path(__file__).resolve().parents[2]


class OfAnotherVerb(Record):
    """A configuration with other groups of keys."""

    held_out: FrozenDict[str, JsonValue]


@pytest.fixture(scope="module")
def config() -> RunConfig:
    return run_config()


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path, "mine")


def finish(ledger: Ledger, number: int, config: RunConfig, **bodies: Any) -> None:
    with ledger.locked(), ledger.open_round(number, config) as folder:
        for name, body in bodies.items():
            folder.run_stage(name, partial(dict, body))
        folder.finish()


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_finished_stage_is_read_back_and_not_computed(ledger: Ledger, config: RunConfig) -> None:
    calls = []

    def compute() -> dict[str, Any]:
        calls.append(1)
        return {"pair": (1, 2)}

    results = []
    for _ in range(2):
        with ledger.locked(), ledger.open_round(0, config) as folder:
            results.append(folder.run_stage("rollout", compute))

    assert results == [{"pair": [1, 2]}, {"pair": [1, 2]}]
    assert len(calls) == 1


def test_a_finished_round_is_recognised(ledger: Ledger, config: RunConfig) -> None:
    finish(ledger, 0, config, rollout={"n": 1})

    with ledger.locked(), ledger.open_round(0, config) as folder:
        assert folder.is_finished
        assert folder.stage_result("rollout") == {"n": 1}
        assert folder.stage_result("never") is None
    assert ledger.next_round() == 1


def test_the_manifest_tells_versions_in_and_out(ledger: Ledger, config: RunConfig) -> None:
    versions = [save_system(ledger.store, toy_system(prompt)) for prompt in ("one", "two")]
    finish(ledger, 0, config, build={"system": to_json(versions[0])}, count={"n": 1})
    finish(ledger, 1, config, repair={"system": to_json(versions[1])})

    first, second = ledger.manifest(0), ledger.manifest(1)
    assert first is not None
    assert second is not None
    build, count = first.stages
    assert (build.system_in, build.system_out) == (None, hash_record(versions[0]))
    assert count.system_in == count.system_out == build.system_out
    assert second.parent == hash_record(first)
    assert second.system == build.system_out
    (repair,) = second.stages
    assert repair.versions_in["harness"] != repair.versions_out["harness"]
    assert repair.versions_in["task"] == repair.versions_out["task"]


def test_a_gap_is_refused_and_nothing_is_made(ledger: Ledger, config: RunConfig) -> None:
    finish(ledger, 0, config)
    finish(ledger, 1, config)
    before = tree(ledger.folder)

    with pytest.raises(
        LedgerError,
        match=r"round 3 cannot start: round 2 of run 'mine' is not finished; run \+round=2 first",
    ):
        ledger.refuse_gap(3)
    with pytest.raises(LedgerError, match="round 3 cannot start"), ledger.open_round(3, config):
        pass

    assert tree(ledger.folder) == before


def test_round_0_may_be_missing_when_round_1_is_asked_for(ledger: Ledger) -> None:
    ledger.refuse_gap(1)

    assert not ledger.folder.exists()


def test_an_unfinished_round_0_is_not_passed_over(ledger: Ledger, config: RunConfig) -> None:
    with ledger.locked(), ledger.open_round(0, config):
        pass

    with (
        pytest.raises(LedgerError, match=r"round 0 .* is not finished"),
        ledger.open_round(1, config),
    ):
        pass


def test_a_changed_configuration_is_refused_with_its_difference(
    ledger: Ledger, config: RunConfig
) -> None:
    finish(ledger, 0, config)
    with ledger.locked(), ledger.open_round(1, config) as folder:
        folder.units.put("rollout", "a", {})
    before = tree(ledger.folder)
    changed = run_config("task.k=1", "policy.error_rates.skip_step=0.5", "task.domains=[mail]")

    with pytest.raises(LedgerError) as caught, ledger.open_round(1, changed):
        pass

    text = str(caught.value)
    assert "task.k: 2 -> 1" in text
    assert "policy.error_rates.skip_step: 0.06 -> 0.5" in text
    assert 'task.domains: [] -> ["mail"]' in text
    assert "\n" not in text
    assert tree(ledger.folder) == before


def test_another_group_is_shown_key_by_key(config: RunConfig) -> None:
    other = run_config("policy=openai", "policy.model=m")

    changes = {change.key: change for change in config_changes(to_json(config), to_json(other))}

    assert changes["policy.kind"].new == "openai"
    assert changes["policy.model"].old == "(absent)"


def test_keys_that_change_no_result_may_change(ledger: Ledger, config: RunConfig) -> None:
    with ledger.locked(), ledger.open_round(0, config):
        pass
    other = run_config("tracking=none", "rollout.concurrency=1", "out=x.json", "round=0")

    with ledger.locked(), ledger.open_round(0, other) as folder:
        assert not folder.is_finished


def test_between_rounds_the_configuration_may_change_and_this_is_recorded(
    ledger: Ledger, config: RunConfig
) -> None:
    finish(ledger, 0, config)

    finish(ledger, 1, run_config("seed=9"))

    manifest = ledger.manifest(1)
    assert manifest is not None
    assert [(item.key, item.old, item.new) for item in manifest.config_changes] == [("seed", 0, 9)]


def test_a_second_driver_is_refused_and_the_lock_goes_with_its_process(
    ledger: Ledger, tmp_path: Path
) -> None:
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys, time\nfrom pathlib import Path\nfrom loop.ledger import Ledger\n"
            "with Ledger(Path(sys.argv[1]), 'mine').locked():\n"
            "    print('held', flush=True)\n    time.sleep(60)",
            str(tmp_path),
        ],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"

    told = f"run 'mine' is being driven by process {holder.pid}"
    with pytest.raises(LedgerError, match=told), ledger.locked():
        pass
    holder.kill()
    holder.wait()
    holder.stdout.close()

    with ledger.locked():
        assert (ledger.folder / "lock").read_text() == f"{os.getpid()}\n"


def test_a_truncated_manifest_is_one_clear_error(ledger: Ledger, config: RunConfig) -> None:
    finish(ledger, 0, config)
    path = ledger.round_path(0) / "manifest.json"
    path.write_bytes(path.read_bytes()[:40])

    with pytest.raises(LedgerError) as caught, ledger.open_round(0, config):
        pass

    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_manifest_of_another_form_is_one_clear_error(ledger: Ledger, config: RunConfig) -> None:
    finish(ledger, 0, config)
    path = ledger.round_path(0) / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "schema_version": 99}))

    with pytest.raises(LedgerError, match=r"manifest.json is damaged \(schema_version"):
        ledger.manifest(0)


def test_an_edited_parent_is_found(ledger: Ledger, config: RunConfig) -> None:
    finish(ledger, 0, config)
    finish(ledger, 1, config)
    path = ledger.round_path(0) / "manifest.json"
    path.write_text(path.read_text().replace('"seed": 0', '"seed": 1'))

    with (
        pytest.raises(LedgerError, match=r"round-0000/manifest\.json is damaged .*checksum"),
        ledger.open_round(1, config),
    ):
        pass


@pytest.mark.parametrize("asked", [1, 2, 3])
def test_another_round_in_the_middle_of_the_history_is_found(
    ledger: Ledger, config: RunConfig, asked: int
) -> None:
    for number in range(3):
        finish(ledger, number, config, build={"n": number})
    shutil.rmtree(ledger.round_path(0))
    finish(ledger, 0, config, build={"n": 7})

    with (
        pytest.raises(LedgerError, match=r"round-0001/manifest\.json was made after another"),
        ledger.open_round(asked, config),
    ):
        pass


def test_a_round_removed_from_the_middle_of_the_history_is_made_again(
    ledger: Ledger, config: RunConfig
) -> None:
    for number in range(3):
        finish(ledger, number, config, build={"n": number})
    shutil.rmtree(ledger.round_path(1))

    assert ledger.next_round() == 1
    with pytest.raises(LedgerError, match=r"run \+round=1 first"):
        ledger.refuse_gap(2)
    finish(ledger, 1, config, build={"n": 1})

    finish(ledger, 3, config)


def test_every_changed_byte_of_a_manifest_is_told_with_the_file(
    ledger: Ledger, config: RunConfig
) -> None:
    with ledger.locked(), ledger.open_round(0, config) as folder:
        folder.run_stage("build", lambda: {"n": 1})
    path = ledger.round_path(0) / "manifest.json"
    whole = path.read_bytes()
    for place in range(0, len(whole), 7):
        if whole[place : place + 1].isspace():
            continue
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])

        with pytest.raises(LedgerError) as caught, ledger.open_round(0, config):
            pass

        assert f"{path} is damaged" in str(caught.value)


def test_a_setting_that_was_changed_in_the_kept_configuration_is_told_with_the_file(
    ledger: Ledger, config: RunConfig
) -> None:
    with ledger.locked(), ledger.open_round(0, config) as folder:
        folder.run_stage("build", lambda: {"n": 1})
    path = ledger.round_path(0) / "config.json"
    whole = path.read_text()
    path.write_text(whole.replace('"walk_length": 3', '"walk_length": 7'))

    with pytest.raises(LedgerError, match=r"config\.json is damaged"), ledger.open_round(0, config):
        pass

    path.write_text(whole.replace('"runs_dir": "runs"', '"runs_dir": "moved"'))
    with ledger.open_round(0, config):
        pass


def test_a_damaged_file_of_seconds_may_be_removed(ledger: Ledger, config: RunConfig) -> None:
    with ledger.locked(), ledger.open_round(0, config) as folder:
        (folder.path / "timing.json").write_text("[1")

        with pytest.raises(LedgerError, match=r"timing\.json is damaged .*; remove it"):
            folder.run_stage("build", lambda: {"n": 1})


@pytest.mark.parametrize("name", ["config", "manifest", "timing"])
def test_a_file_that_cannot_be_written_is_one_line_that_names_it(
    ledger: Ledger, config: RunConfig, name: str
) -> None:
    (ledger.round_path(0) / f"{name}.json" / "in the way").mkdir(parents=True)

    with (
        pytest.raises(LedgerError, match=rf"{name}\.json (cannot be written|is damaged) \("),
        ledger.locked(),
        ledger.open_round(0, config) as folder,
    ):
        folder.run_stage("build", lambda: {"n": 1})


def test_a_damaged_result_is_one_clear_error(ledger: Ledger, config: RunConfig) -> None:
    finish(ledger, 0, config, rollout={"n": 1})
    (path,) = ledger.store.folder.rglob("*.json")
    path.write_bytes(b'{"n":2}')

    with pytest.raises(LedgerError, match="is damaged"), ledger.open_round(0, config):
        pass


@pytest.mark.parametrize("content", [None, b""])
def test_units_of_a_finished_round_are_not_made_up_again(
    ledger: Ledger, config: RunConfig, content: bytes | None
) -> None:
    with ledger.locked(), ledger.open_round(0, config) as folder:
        folder.units.put("rollout", "r1", 1)
        folder.run_stage("rollout", lambda: {"rollouts": {"r1": content_hash(1)}})
        folder.finish()
    path = ledger.round_path(0) / "units.sqlite"
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    before = tree(ledger.folder)

    for opened in (ledger.open_round(0, config), ledger.read_round(0)):
        with pytest.raises(LedgerError, match=r"damaged \(unit rollout/r1 is not as it"), opened:
            pass

    assert tree(ledger.folder) == before


def test_drafts_of_a_finished_stage_that_are_gone_are_told(
    ledger: Ledger, config: RunConfig
) -> None:
    finish(ledger, 0, config, tasks={"drafted": 3})

    with (
        pytest.raises(LedgerError, match=r"stage tasks had 3 units, 0 are there"),
        ledger.read_round(0),
    ):
        pass


def test_units_without_a_manifest_are_not_taken_up(ledger: Ledger, config: RunConfig) -> None:
    with ledger.locked(), ledger.open_round(0, config) as folder:
        folder.units.put("rollout", "r1", 1)
    (ledger.round_path(0) / "manifest.json").unlink()

    with pytest.raises(LedgerError, match=r"there is no manifest\.json"):
        ledger.check_round(0, config)


def test_a_round_of_another_verb_is_told_as_one(ledger: Ledger, config: RunConfig) -> None:
    finish(ledger, 0, config, rollout={"n": 1})

    with pytest.raises(LedgerError, match=r"by another verb \(.* has not: attribution") as caught:
        ledger.check_round(0, OfAnotherVerb(held_out=FrozenDict({"tasks": 2})))

    assert "it lacks: held_out); give run= another name" in str(caught.value)
    assert len(str(caught.value)) < 300


def test_of_many_changed_keys_a_line_names_a_few(ledger: Ledger, config: RunConfig) -> None:
    finish(ledger, 0, config, rollout={"n": 1})
    other = run_config(
        *(f"policy.error_rates.{name}=0.5" for name in ("skip_step", "stale_value")),
        *("policy.error_rates.wrong_argument=0.5", "policy.error_rates.malformed_call=0.5"),
        *("seed=9", "task.k=3", "task.walk_length=5"),
    )

    with pytest.raises(LedgerError, match="and 2 more keys"):
        ledger.check_round(0, other)


def test_a_folder_where_a_file_should_be_is_one_line(ledger: Ledger, config: RunConfig) -> None:
    finish(ledger, 0, config)
    (ledger.round_path(0) / ".x.tmp").mkdir()
    with (
        pytest.raises(LedgerError, match=r"\.x\.tmp is damaged .*; remove it"),
        ledger.locked(),
        ledger.open_round(0, config),
    ):
        pass
    (ledger.folder / "lock").unlink()
    (ledger.folder / "lock").mkdir()

    with pytest.raises(LedgerError, match=r"cannot be written \(.*lock"):
        refuse_locked(ledger.folder / "lock", "mine")


def test_a_missing_config_is_not_made_up_again(ledger: Ledger, config: RunConfig) -> None:
    finish(ledger, 0, config)
    (ledger.round_path(0) / "config.json").unlink()

    with pytest.raises(LedgerError, match=r"config\.json is damaged"), ledger.open_round(0, config):
        pass


def test_costs_stand_beside_the_seconds_and_are_no_stage(ledger: Ledger, config: RunConfig) -> None:
    cost = FrozenDict({"replay": Cost(count=2, seconds=0.5)})

    with ledger.locked(), ledger.open_round(0, config) as folder:
        folder.keep_cost(cost)
        folder.run_stage("rollout", lambda: {"n": 1})

        assert folder.cost() == cost
        assert set(folder.seconds()) == {"rollout"}


def test_seconds_are_kept_apart_from_what_is_hashed(ledger: Ledger, config: RunConfig) -> None:
    with ledger.locked(), ledger.open_round(0, config) as folder:
        folder.run_stage("rollout", lambda: {"n": 1})

        assert set(folder.seconds()) == {"rollout"}
    assert "seconds" not in (ledger.round_path(0) / "manifest.json").read_text()


def test_a_system_comes_back_as_it_was_kept(tmp_path: Path) -> None:
    store, system = Store(tmp_path), toy_system("h\u00e9")

    version = save_system(store, system)

    assert load_system(store, version) == system
    assert set(version.components) == {"environment", "task", "harness", "evaluator"}


def test_systems_share_the_artifacts_that_are_equal(tmp_path: Path) -> None:
    store = Store(tmp_path)
    save_system(store, toy_system("one"))
    before = len(list(tmp_path.rglob("*.json")))

    save_system(store, toy_system("two"))

    assert len(list(tmp_path.rglob("*.json"))) == before + 2  # the harness and the version itself


def test_a_round_that_has_done_nothing_takes_another_configuration(
    ledger: Ledger, config: RunConfig
) -> None:
    finish(ledger, 0, config)
    with ledger.locked(), ledger.open_round(1, config):
        pass
    changed = run_config("policy.error_rates.skip_step=0.5")

    with ledger.locked(), ledger.open_round(1, changed) as folder:
        kept = read_object(folder.path / "config.json")

    assert kept["policy"]["error_rates"]["skip_step"] == 0.5
