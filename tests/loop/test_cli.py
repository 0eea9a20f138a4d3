"""The command line as its user meets it: one line for a mistake, nothing written, the right exit
status."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from loop.__main__ import main

ROOT = Path(__file__).resolve().parents[2]

THREE = "environment.services=[directory,helpdesk,mail]"
MISTAKES = [
    (["evolv"], "there is no verb 'evolv'", "'evolve'"),
    (["evolve", "task.walk_lenght=5"], "'task.walk_lenght'", "Write task.walk_length=5"),
    (["evolve", "walk_length=5"], "'walk_length'", "Write task.walk_length=5"),
    (["evolve", "+tsk.k=3"], "'tsk.k'", "Write task.k=3"),
    (["evolve", "~tsk.k"], "'tsk.k'", "'task.k'"),
    (["evolve", "polcy=openai"], "'polcy'", "Write policy=openai"),
    (["evolve", "task.k=two"], "task.k must be an integer (got 'two')", "set task.k=2"),
    (["evolve", "task.k=true"], "task.k must be an integer (got true)", "set task.k=2"),
    (["evolve", "task.k=0"], "task.k must be >= 1 (got 0)", "set task.k=2"),
    (["evolve", "+task.k=3"], "task.k has a value already", "task.k=3"),
    (["evolve", "task.k=2,3"], "task.k has several values (2,3)", "add -m"),
    (["evolve", "task.walk_length=2"], "must be > task.k (got 2 and 2)", "task.walk_length=3"),
    (["evolve", "task.domains=helpdesk"], "task.domains must be a list", "set task.domains=[]"),
    (["evolve", THREE, "task.domains=[hr]"], "'hr'", "directory, helpdesk, mail"),
    (["evolve", THREE, "task.k=4", "task.walk_length=9"], "got 4, there are 3", "set task.k=3"),
    (["evolve", "task=3"], "task must be a group of keys (got 3)", "drop the override"),
    (["evolve", "policy=scriptd"], "policy must be one of local, openai,", "policy=scripted?"),
    (["evolve", "policy.base_url=m"], "belongs to policy=openai", "add policy=openai"),
    (["evolve", "policy=openai"], "policy.model has no value", "add policy.model=VALUE"),
    (["evolve", "policy.kind=openai"], "policy.base_url is missing", "with policy=openai"),
    (
        ["evolve", "policy=scripted", "policy.error_rates.skip_step=2"],
        "policy.error_rates.skip_step must be <= 1.0 (got 2)",
        "set policy.error_rates.skip_step=0.06",
    ),
    (["evolve", "evaluator.completion_lambda=inf"], "must be a finite number", "=0.5"),
    (["evolve", "scale=smal"], "scale must be one of smoke, small, full", "set scale=small"),
    (["evolve", "run=../up"], "got '../up'", "set run=mine"),
    (["evolve", "run=store"], "got 'store'", "set run=mine"),
    (["evolve", "run=Store"], "got 'Store'", "set run=mine"),
    (["evolve", "out=."], "out must name a file", "set out=result.json"),
    (["evolve", "out=''"], "out must name a file", "set out=result.json"),
    (["evolve", "policy=null"], "policy must be one of", "(got 'null')"),
    (["evolve", "policy=../evolve"], "policy must be one of", "(got '../evolve')"),
    (["evolve", "policy={a:1}"], "policy must be one of", "(got '{a:1}')"),
    (["evolve", "hydra.run.dir=/proc/none"], "No such file or directory: '/proc/none'", "--help"),
    (["evolve", "runs_dir='\udce9'"], "runs_dir holds bytes that are no UTF-8", "LC_ALL=C.UTF-8"),
    (["evolve", "environment.services=[]"], "no service to draw", "environment.mcp_config"),
    (["evolve", "environment.services=[mail,mail]"], "names 'mail' twice", "write it once"),
    (["evolve", "=x"], "'=x' names no key", "write key=value"),
    (["evolve", "round"], "'round' is no override", "round=VALUE"),
    (["evolve", "task.k=[1"], "task.k has a value that cannot be read", "quote it"),
    (["evolve", "task.k=${nowhere}"], "task.k cannot be resolved", "write a plain value"),
    (["evolve", "hydra/launcher=nope"], "hydra/launcher must be one of", "(got 'nope')"),
    (["evolve", "--nope"], "unrecognized arguments: --nope", "--hydra-help"),
    (["evolve", "-m", "--cfg", "job"], "only one of", "--hydra-help"),
    (["bench"], "bench needs a benchmark", "python -m loop bench world"),
    (["bench", "wrld"], "there is no benchmark 'wrld'", "python -m loop bench world"),
    (["bench", "world", "scael=full"], "'scael'", "Write scale=full"),
    (["evolve", "dry_run=1"], "dry_run must be true or false (got 1)", "set dry_run=false"),
    (["compare"], "compare needs paths", "python -m loop compare PATHS..."),
    (["compare", "none"], "there is no run or round 'none'", "name a folder under runs_dir"),
    (["compare", "a", "out=x", "b"], "'b' stands after 'out=x'", "write the paths first"),
    (["show"], "show needs exactly one of rollout, task, service, patch", "show task=ID"),
    (["show", "task=t_1"], "there is no run 'default' in runs", "there is none at all"),
    (["doctor", "policy=nope"], "policy must be one of", "(got 'nope')"),
]


@pytest.fixture
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def in_process(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "loop", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(("arguments", "problem", "mend"), MISTAKES, ids=lambda value: str(value))
def test_a_mistake_is_one_line_that_says_how_to_mend_it(
    arguments: list[str],
    problem: str,
    mend: str,
    empty_folder: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    status = main(arguments)

    out, err = capfd.readouterr()
    assert status == 2
    assert err.count("\n") == 1
    assert problem in err
    assert mend in err
    assert out == ""
    assert list(empty_folder.iterdir()) == []


@pytest.mark.parametrize(
    "arguments", [["evolve", "task.walk_lenght=5"], ["evolve", "task.k=two"], ["evolve", "=x"]]
)
def test_a_mistake_in_a_process_of_its_own(arguments: list[str], tmp_path: Path) -> None:
    done = in_process(tmp_path, *arguments)

    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_users_own_conf_folder_is_not_ours(tmp_path: Path) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "__init__.py").write_text("")
    (tmp_path / "conf" / "evolve.yaml").write_text("stranger: 1\n")

    done = in_process(tmp_path, "evolve", "--cfg", "job")

    assert done.returncode == 0
    assert "stranger" not in done.stdout
    assert "walk_length: 3" in done.stdout


def test_cfg_job_shows_overrides_and_runs_nothing(
    empty_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = main(["evolve", "+round=1", "task.walk_length=7", "--cfg", "job"])

    out = capsys.readouterr().out
    assert status == 0
    assert "walk_length: 7" in out
    assert "round: 1" in out
    assert list(empty_folder.iterdir()) == []


def test_help_of_a_verb_shows_groups_keys_defaults_and_meaning(
    capsys: pytest.CaptureFixture[str],
) -> None:
    status = main(["evolve", "--help"])

    out = capsys.readouterr().out
    assert status == 0
    assert "python -m loop evolve +round=1" in out
    assert "scripted | openai" in out
    assert "task.walk_length=3" in out
    assert "Services that a task needs (K)." in out
    assert "policy.model=(must be given)" in out


def test_a_benchmark_name_may_stand_before_help(capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["bench", "world", "--help"])

    assert status == 0
    assert "bench {world}" in capsys.readouterr().out


def test_ctrl_c_is_one_line_and_130(tmp_path: Path) -> None:
    script = (
        "import os, signal, sys\n"
        "from loop import hydra_entry, __main__\n"
        "from loop.verbs import find_verb\n"
        "def command(config): os.kill(os.getpid(), signal.SIGINT); import time; time.sleep(5)\n"
        "sys.exit(__main__.guarded(lambda: hydra_entry.run_verb(find_verb('evolve'), [], command)))"
    )

    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 130
    assert done.stderr.count("\n") == 1
    assert "interrupted" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("flag", [["--info"], ["--info", "config"], ["--hydra-help"]])
def test_flags_of_hydra_may_stand_before_overrides(flag: list[str], tmp_path: Path) -> None:
    done = in_process(tmp_path, "evolve", *flag, "seed=3", "tracking=none")

    assert done.returncode == 0, done.stderr
    assert "seed: 3" in done.stdout or "Hydra" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_reader_that_goes_away_is_no_traceback(tmp_path: Path) -> None:
    program = (
        "import os, sys\nfrom loop.__main__ import guarded\n"
        "reader, writer = os.pipe()\nos.dup2(writer, 1)\nos.close(reader)\n"
        "sys.exit(guarded(lambda: print('the path of a report') or 0))"
    )

    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 141
    assert done.stderr == ""
