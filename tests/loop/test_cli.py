"""The command line as its user meets it: one line for a mistake, nothing written, the right exit
status."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from loop.__main__ import main
from loop.policy.config import LocalPolicyConfig
from tests.loop.configs import run_config
from tests.policy.models import needs_model

ROOT = Path(__file__).resolve().parents[2]

THREE = "environment.services=[directory,helpdesk,mail]"
AUTHOR = [
    "environment.author=model", "environment.author.model=m",
    "environment.author.base_url=http://h/v1",
]  # fmt: skip
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
    (["evolve", "policy=local", "policy.model=./none"], "no such folder", "set policy.model"),
    pytest.param(
        ["evaluate", "policy=local", "policy.adapter=none"],
        "no file none",
        "null for the plain",
        marks=needs_model,
    ),
    (["train", "policy.model=./none"], "policy.model=./none", "set policy.model to a folder"),
    pytest.param(
        ["train", "train.frozen_layers=30"],
        "the model has 30 blocks",
        "to at most 29",
        marks=needs_model,
    ),
    (["train", "train.max_tokens=1"], "train.max_tokens must be >= 64", "=4096"),
    (
        ["evolve", "policy=openai", "policy.model="],
        "policy.model must not be",
        "policy.model=VALUE",
    ),
    (["evolve", "~task"], "task is missing", "drop the override ~task"),
    (["evolve", "evaluator.completion_lambda=1e-17"], "must be >= 1e-06", "=0.5"),
    (["evolve", "evaluator.completion_lambda=1e308"], "must be <= 1000000.0", "=0.5"),
    (["evolve", "environment.mcp_config=/none.json"], "environment.mcp_config: /none", "drop the"),
    (["evolve", "environment.mcp_config="], "environment.mcp_config must not be empty", "drop the"),
    (["evolve", "environment.allow_calls=[a.b]"], "names 'a.b', and no", "environment.mcp_config"),
    (["synthesize", AUTHOR[0]], "environment.author.base_url has no value", "base_url=VALUE"),
    (["synthesize", *AUTHOR[::2]], "environment.author.model has no value", "model=VALUE"),
    (["synthesize", "environment/author=modl"], "environment.author must be one of", "r=model?"),
    (["evolve", "environment.author=null"], "environment.author must be one of", "(got 'null')"),
    (["evolve", AUTHOR[1]], "belongs to environment.author=model", "add environment.author=model"),
    (
        ["evolve", "environment.authr=model"],
        "'environment.authr'",
        "Write environment.author=model",
    ),
    (
        ["synthesize", *AUTHOR, "environment.author.temperature=-1"],
        "environment.author.temperature must be >= 0.0 (got -1)",
        "set environment.author.temperature=0.2",
    ),
    (["evolve", "environment.author=none,model"], "environment.author has several", "add -m"),
    (
        ["synthesize", *AUTHOR, "environment.author.api_key_env=sk-1"],
        "environment.author.api_key_env must be the name of an environment variable",
        "api_key_env=OPENAI_API_KEY",
    ),
    (["compare", "paths=[]"], "paths must not be empty", "set paths=[VALUE]"),
    (["compare", "/none/a=1"], "there is no run or round '/none/a=1'", "name a folder"),
]


@pytest.fixture
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_what_may_be_a_key_is_never_shown_again(
    empty_folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    secret = "sk-canary-90"
    for flags in ([], ["-m", "seed=1,2"]):
        arguments = ["policy=openai", "policy.model=m", f"policy.api_key_env={secret}", *flags]

        assert main(["evolve", *arguments]) == 2

        out, err = capfd.readouterr()
        assert "policy.api_key_env must be the name of an environment variable" in err
        assert secret not in out + err
    assert list(empty_folder.iterdir()) == []


def test_a_password_in_an_address_is_never_shown_again(
    empty_folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    address = "policy.base_url=http://user:canary-91@localhost:8000/v1"

    assert main(["evolve", "policy=openai", "policy.model=m", address]) == 2

    out, err = capfd.readouterr()
    assert "policy.base_url is not of the form" in err
    assert "canary-91" not in out + err
    assert list(empty_folder.iterdir()) == []


def test_a_link_to_nowhere_is_told_as_one(
    empty_folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (empty_folder / "link").symlink_to("gone")
    for arguments in (
        ["compare", "link"],
        ["evolve", "policy=scripted", "runs_dir=link"],
        ["evolve", "policy=scripted", "runs_dir=link", "dry_run=true"],
        ["evolve", "policy=scripted", "out=link/x.json"],
    ):
        assert main(arguments) == 2

        err = capfd.readouterr().err
        assert err.count("\n") == 1
        assert "link is a link to gone, which is not there" in err.replace("'", "")


def test_a_working_directory_that_is_gone_is_one_line(
    empty_folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    empty_folder.rmdir()

    assert main(["evolve", "policy=scripted"]) == 2

    assert capfd.readouterr().err == (
        "selvage: the working directory is gone; change to one that is there\n"
    )
    empty_folder.mkdir()


def test_a_tilde_is_the_users_home(
    empty_folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(empty_folder / "home"))

    config = run_config(
        "policy=local",
        "policy.model='~/m'",
        "policy.adapter='~/a'",
        "runs_dir='~/runs'",
        "out='~/o.json'",
        "environment.mcp_config='~/mcp.json'",
        "environment.sources=[{kind: jsonl, path: '~/s.jsonl'}]",
    )

    home = f"{empty_folder}/home"
    assert (config.runs_dir, config.out) == (f"{home}/runs", f"{home}/o.json")
    assert isinstance(config.policy, LocalPolicyConfig)
    assert (config.policy.model, config.policy.adapter) == (f"{home}/m", f"{home}/a")
    assert config.environment.mcp_config == f"{home}/mcp.json"
    assert [source.path for source in config.environment.sources if source.kind == "jsonl"] == [
        f"{home}/s.jsonl"
    ]
    assert main(["compare", "~/none"]) == 2
    assert f"no run or round '{home}/none'" in capfd.readouterr().err


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
    assert "bench {world" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "status", "word"), [("SIGINT", 130, "interrupted"), ("SIGTERM", 143, "terminated")]
)
@pytest.mark.parametrize("flags", [[], ["-m", "seed=1,2"]], ids=["one", "sweep"])
def test_a_signal_is_one_line_and_leaves_nothing(
    name: str, status: int, word: str, flags: list[str], tmp_path: Path
) -> None:
    script = (
        "import os, signal, sys\n"
        "from loop import hydra_entry, __main__\n"
        "from loop.verbs import find_verb\n"
        f"def command(config): os.kill(os.getpid(), signal.{name}); import time; time.sleep(5)\n"
        "verb = find_verb('evolve')\n"
        f"run = lambda: hydra_entry.run_verb(verb, {flags!r}, command)\n"
        "sys.exit(__main__.guarded(run))"
    )
    (tmp_path / "temporary").mkdir()

    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path / "temporary")},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == status
    assert done.stderr.count("\n") == 1
    assert word in done.stderr
    assert [path.name for path in tmp_path.rglob("*")] == ["temporary"]


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


@pytest.mark.parametrize(
    "arguments", [["--help"], ["evolve", "--help"], ["evolve", "--cfg", "job"]]
)
@pytest.mark.parametrize(
    ("stdout", "status", "word"),
    [("/dev/full", 74, "stdout cannot be written (No space left"), ("closed", 0, "")],
)
def test_a_stdout_that_takes_nothing_is_no_traceback(
    arguments: list[str], stdout: str, status: int, word: str, tmp_path: Path
) -> None:
    target = ">&-" if stdout == "closed" else f"> {stdout}"

    done = subprocess.run(
        ["sh", "-c", f'"$0" -m loop "$@" {target}', sys.executable, *arguments],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == status
    assert word in done.stderr
    assert done.stderr.count("\n") == bool(word)


def test_help_to_a_reader_that_goes_away_is_no_traceback(tmp_path: Path) -> None:
    program = (
        "import os, sys\nfrom loop.__main__ import main\n"
        "reader, writer = os.pipe()\nos.dup2(writer, 1)\nos.close(reader)\n"
        "sys.exit(main(['--help']))"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (141, "")


def test_one_command_makes_no_temporary_folder(tmp_path: Path) -> None:
    program = (
        "import tempfile, sys\nfrom loop.__main__ import main\n"
        "def refuse(*given, **named): sys.exit('a folder was made')\n"
        "tempfile.mkdtemp = refuse\n"
        "sys.exit(main(['evolve', '--cfg', 'job']))"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")
