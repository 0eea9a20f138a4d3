"""A sweep: a run folder for each setting, failures told and not fatal, nothing left behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from components.errors import ConfigError, LedgerError
from loop.config import RunConfig
from loop.hydra_entry import job_suffix, run_verb
from loop.verbs import Verb, find_verb


@pytest.fixture
def evolve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Verb:
    monkeypatch.chdir(tmp_path)
    verb = find_verb("evolve")
    assert verb is not None
    return verb


def test_each_setting_has_a_run_of_its_own_and_a_bad_one_is_told(
    evolve: Verb, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: dict[tuple[int, int], str] = {}

    def command(config: RunConfig) -> None:
        seen[config.task.walk_length, config.task.k] = config.run

    with pytest.raises(ConfigError, match="1 of 4 jobs of the sweep failed"):
        run_verb(evolve, ["-m", "+round=1", "task.walk_length=3,5", "task.k=2,3"], command)

    out, err = capsys.readouterr()
    assert sorted(seen) == [(3, 2), (5, 2), (5, 3)]
    names = {line.rpartition(" -> ")[2] for line in out.splitlines()}
    assert len(names) == 4
    assert set(seen.values()) < names
    assert all(name.startswith("default-") and len(name) == 16 for name in names)
    assert err.count("\n") == 1
    assert "task.walk_length must be > task.k (got 3 and 3)" in err


def test_four_good_settings_give_four_runs(evolve: Verb) -> None:
    runs: list[str] = []

    status = run_verb(
        evolve,
        ["-m", "+round=1", "run=mine", "task.walk_length=4,5", "task.k=2,3"],
        lambda config: runs.append(config.run),
    )

    assert status == 0
    assert len(set(runs)) == 4


def test_another_round_of_a_setting_lands_in_the_same_run(evolve: Verb) -> None:
    runs: list[str] = []

    for override in ("+round=1", "round=2"):
        run_verb(evolve, ["-m", override, "seed=1,2"], lambda config: runs.append(config.run))

    assert runs[:2] == runs[2:]
    assert runs[0] != runs[1]


def test_flags_may_stand_after_overrides(evolve: Verb) -> None:
    seeds: list[int] = []

    run_verb(evolve, ["seed=1,2", "-m"], lambda config: seeds.append(config.seed))

    assert seeds == [1, 2]


def test_a_sweep_writes_nothing_of_its_own(evolve: Verb, tmp_path: Path) -> None:
    run_verb(evolve, ["-m", "seed=1,2"], lambda config: None)

    assert list(tmp_path.iterdir()) == []


def test_result_files_of_jobs_do_not_overwrite_each_other(evolve: Verb) -> None:
    outs: list[str | None] = []

    run_verb(evolve, ["-m", "seed=1,2", "out=a/b.json"], lambda config: outs.append(config.out))

    assert len(set(outs)) == 2
    assert all(out is not None and out.startswith("a/b-") for out in outs)


def test_a_mistyped_key_ends_a_sweep_before_its_first_job(evolve: Verb) -> None:
    runs: list[str] = []

    with pytest.raises(ConfigError, match=r"did you mean 'task\.k'"):
        run_verb(evolve, ["-m", "seed=1,2", "task.kk=3"], lambda config: runs.append(config.run))

    assert runs == []


def test_a_failing_command_does_not_stop_the_others(
    evolve: Verb, capsys: pytest.CaptureFixture[str]
) -> None:
    seeds: list[int] = []

    def command(config: RunConfig) -> None:
        seeds.append(config.seed)
        if config.seed == 1:
            raise LedgerError("run is locked")

    with pytest.raises(ConfigError, match="1 of 3 jobs"):
        run_verb(evolve, ["-m", "seed=1,2,3"], command)

    assert seeds == [1, 2, 3]
    assert "sweep job 1 (seed=1): run is locked" in capsys.readouterr().err


def test_a_name_depends_on_settings_alone() -> None:
    name = job_suffix(["seed=1", "task.k=3"])

    assert job_suffix(["+round=4", "task.k=3", "run=x", "seed=1", "out=o", "runs_dir=d"]) == name
    assert job_suffix(["hydra.verbose=true", "+task.k=3", "seed=1"]) == name
    assert job_suffix(["seed=2", "task.k=3"]) != name
    assert len(name) == 8
