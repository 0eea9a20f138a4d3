"""The door to Hydra: from command line to one validated configuration, and on to the command that
takes it.

Nothing else imports hydra or omegaconf, and nothing past `load_config` sees a DictConfig. Hydra
writes nothing here: no outputs folder, no log file, no change of directory; a sweep's own
bookkeeping goes to a folder that is removed.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import importlib
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NoReturn

import hydra
from hydra._internal.utils import get_args_parser
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.types import Quote, QuotedString
from hydra.errors import HydraException
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import MissingMandatoryValue, OmegaConfBaseException
from pydantic import ValidationError

from components.errors import ConfigError, UserError
from components.records.config import Config
from loop.config_errors import explain
from loop.config_keys import Key, keys_of, verb_help
from loop.hydra_errors import explain_composition, refuse_unreadable_choice
from loop.verb_configs import MODELS
from loop.verbs import Verb

CONF = Path(__file__).resolve().parent.parent / "conf"
"""Beside the `loop` package, in a checkout and in an installation; a `conf` in the working
directory is not ours."""

NAMING_EXCEPT = frozenset({"run", "runs_dir", "out", "round", "dry_run"})
"""Keys that do not enter the name of a sweep's job: all rounds of one setting share a run
folder."""

Command = Callable[[Any], int | None]
"""`main(config)` of a module in `loop.commands`; None is exit status 0."""


def run_verb(
    verb: Verb,
    arguments: list[str],
    command: Command | None = None,
    *,
    words: Sequence[str] = (),
) -> int:
    """Run one verb under Hydra and return the exit status.

    Args:
        verb: the verb.
        arguments: overrides and Hydra's flags.
        command: what takes the configuration; None: `main` of the verb's module in `loop.commands`.
        words: the value of the verb's `words_key`; empty: what the overrides say.

    Raises:
        UserError: the command line or the configuration is wrong, or the command said so.
    """
    model: type[Config] = MODELS[verb.config]
    defaults = default_values(verb, model)
    if words:
        arguments = [_list_override(verb.words_key, words), *arguments]
    arguments = _with_info_spelled_out(arguments)
    keys = keys_of(model)
    arguments = [part for text in arguments for part in _as_choice(text, keys)]
    flags = _parse_flags(arguments)
    if flags.help:
        print(verb_help(verb, _description(verb), model, defaults))
        return 0
    job = _Job(verb, model, defaults, command)
    refuse_unreadable_choice(flags.overrides, keys)
    try:
        with _hydra_process(verb, flags, arguments):
            hydra.main(version_base="1.3", config_path=str(CONF), config_name=verb.name)(job.run)()
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 0
    except Exception as error:
        # Hydra raises plain errors too. Until a job has begun, what it cannot do is the command
        # line's; after that it is our own mistake and keeps its traceback. An error of the system
        # without a file's name is stdout's.
        is_hydras = isinstance(error, (HydraException, OmegaConfBaseException))
        is_stdouts = isinstance(error, OSError) and error.filename is None
        if not is_hydras and (job.has_begun or is_stdouts):
            raise
        raise ConfigError(explain_composition(error, flags.overrides, keys)) from error
    job.raise_failures()
    return job.status


def load_config(values: dict[str, Any], model: type[Config], defaults: dict[str, Any]) -> Config:
    """Return the validated configuration.

    Validation is strict (`true` is no integer, `2.0` is no count) and goes through JSON, where a
    list may be a tuple.

    Raises:
        ConfigError: a value is refused; one line says which.
    """
    for key, value in _flat(values):
        if not _is_text(value):
            raise ConfigError(
                f"{key} holds bytes that are no UTF-8 text (got {value!a}); write it in "
                "UTF-8, under a UTF-8 locale such as LC_ALL=C.UTF-8"
            )
    try:
        return model.model_validate_json(json.dumps(values), strict=True)
    except ValidationError as error:
        raise ConfigError(explain(error, model, values, defaults)) from error


def default_values(verb: Verb, model: type[Config]) -> dict[str, Any]:
    """Return the default of every dotted key, read from `conf/`.

    A key that only some choices of a group have is there twice: by its name, and by choice and name
    (`policy=openai policy.model`).
    """
    primary = _yaml(CONF / f"{verb.name}.yaml")
    groups = {
        name: choice
        for entry in primary.pop("defaults", [])
        if isinstance(entry, dict)
        for name, choice in entry.items()
    }
    primary.pop("hydra", None)
    values = dict(_flat(primary))
    for key in keys_of(model):
        if key.choices:
            for choice in key.choices:
                # Two choices may have a key of one name (`policy.model`), each with its default.
                body = _yaml(CONF / key.folder / f"{choice}.yaml")
                for name, value in _flat(body, f"{key.name}."):
                    values[name] = values[f"{key.name}={choice} {name}"] = value
            values[key.name] = groups[key.folder]
    return values


def job_suffix(overrides: Sequence[str]) -> str:
    """Return what a sweep's job adds to the run's name: 8 hex digits of its sorted overrides."""
    named = sorted(text.lstrip("+") for text in overrides)
    kept = [
        text
        for text in named
        if text.partition("=")[0] not in NAMING_EXCEPT and not text.startswith("hydra")
    ]
    return hashlib.sha256("\n".join(kept).encode()).hexdigest()[:8]


class _Job:
    """One command line's jobs (one, or a sweep's): calls the command and keeps what failed."""

    def __init__(
        self, verb: Verb, model: type[Config], defaults: dict[str, Any], command: Command | None
    ) -> None:
        self._verb, self._model, self._defaults, self._command = verb, model, defaults, command
        self._process = os.getpid()
        self._count = 0
        self._is_sweep = False
        self._failures: list[UserError] = []
        self.status = 0
        """The largest exit status of the jobs."""

    @property
    def has_begun(self) -> bool:
        """Whether Hydra has composed and called."""
        return self._count > 0

    def run(self, composed: DictConfig) -> None:
        """Hydra's task function."""
        self._count += 1
        self._is_sweep = HydraConfig.get().mode == RunMode.MULTIRUN
        number = HydraConfig.get().job.num + 1 if self._is_sweep else 1
        overrides = _texts(HydraConfig.get().overrides.task)
        shown = " ".join(map(_without_key, overrides))
        try:
            values = OmegaConf.to_container(composed, resolve=True, throw_on_missing=True)
            assert isinstance(values, dict)
            plain = {str(key): value for key, value in values.items()}
            if self._is_sweep:
                _name_job(plain, job_suffix(overrides))
                name = plain.get("run", "")
                print(f"sweep job {number}: {shown} -> {name}", flush=True)
            config = load_config(plain, self._model, self._defaults)
            self.status = max(self.status, (self._command or _command_of(self._verb))(config) or 0)
        except OmegaConfBaseException as error:
            self._keep(ConfigError(_explain_value(error)), f"{number} ({shown})")
        except UserError as error:
            self._keep(error, f"{number} ({shown})")

    def raise_failures(self) -> None:
        """Raise what failed, once Hydra is done."""
        if not self._failures:
            return
        if not self._is_sweep:
            raise self._failures[0]
        raise ConfigError(
            f"{len(self._failures)} of {self._count} jobs of the sweep failed (see above); "
            "the others are done"
        )

    def _keep(self, error: UserError, job: str) -> None:
        # Hydra prints lines of its own when a task function raises, and ends a sweep at the first
        # failure that it looks at. In this process failures are kept and told at the end; a
        # launcher that runs jobs in other processes sees only what is raised.
        if os.getpid() != self._process:
            raise error
        self._failures.append(error)
        if self._is_sweep:
            line = " ".join(str(error).split())
            print(f"selvage: sweep job {job}: {line}", file=sys.stderr)


def _list_override(key: str, words: Sequence[str]) -> str:
    """Return an override whose value is a list of texts, whatever is in them."""
    quoted = [
        QuotedString(text=word.replace("${", "\\${"), quote=Quote.single).with_quotes()
        for word in words
    ]
    return f"{key}=[{','.join(quoted)}]"


def _as_choice(override: str, keys: Sequence[Key]) -> list[str]:
    """Return what Hydra is given for an override: the choice of a group within a section with
    slashes; a file's name, where a group may be a `file`, as that choice and its path; anything
    else as it is."""
    name, equals, value = override.partition("=")
    bare = name.lstrip("+").replace("/", ".")
    key = next((key for key in keys if key.choices and key.name == bare), None)
    if not equals or key is None:
        return [override]
    choices, group = key.choices, key.folder if "." in bare else name
    if "file" in choices and value not in choices and ("." in value or "/" in value):
        return [f"{group}=file", f"{bare}.path={value}"]
    return [f"{group}={value}"]


def _with_info_spelled_out(arguments: list[str]) -> list[str]:
    """Give `--info` the word that may be left out, so that it does not take an override for it."""
    words = ["--info=all" if text in ("--info", "-i") else text for text in arguments]
    for index, text in enumerate(arguments[:-1]):
        if words[index] == "--info=all" and not set(arguments[index + 1]) & set("=-"):
            words[index] = text
    return words


def _parse_flags(arguments: list[str]) -> argparse.Namespace:
    """Read the command line as Hydra will, so that what Hydra refuses becomes one line."""
    parser = get_args_parser()

    def refuse(message: str) -> NoReturn:
        raise ConfigError(f"{message}; see --hydra-help for the flags")

    parser.error = refuse  # type: ignore[method-assign]
    flags = parser.parse_intermixed_args(arguments)
    modes = [flags.run, flags.multirun, flags.cfg, flags.info, flags.shell_completion]
    if sum(bool(mode) for mode in modes) > 1:
        refuse("only one of --run, -m, --cfg, --info and --shell-completion can be given")
    if flags.resolve and not flags.cfg:
        refuse("--resolve needs --cfg job")
    if flags.experimental_rerun:
        refuse("--experimental-rerun reads pickled files and is not offered; run the command again")
    flags.multirun = flags.multirun or "hydra.mode=MULTIRUN" in flags.overrides
    return flags


@contextmanager
def _hydra_process(verb: Verb, flags: argparse.Namespace, arguments: list[str]) -> Iterator[None]:
    """Give Hydra the process state that it reads (argv, raised errors), and take it back."""
    # Hydra wants its flags before the overrides; people also write `task.k=2,3 -m`.
    options = [text for text in arguments if text not in flags.overrides]
    argv, full_error = sys.argv, os.environ.get("HYDRA_FULL_ERROR")
    with ExitStack() as stack:
        sweep: list[str] = []
        # Hydra saves multirun.yaml in a sweep's folder. Who needs it to stay (a cluster launcher's
        # job files) names a folder with hydra.sweep.dir: the later override wins.
        if flags.multirun:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="selvage-sweep-"))
            sweep = [f"hydra.sweep.dir={json.dumps(folder)}", "hydra.sweep.subdir=."]
        overrides = [*sweep, *flags.overrides]
        if flags.hydra_help:  # Hydra composes its own configuration alone, and knows none of ours
            overrides = []
        sys.argv = [f"python -m loop {verb.name}", *options, *overrides]
        os.environ["HYDRA_FULL_ERROR"] = "1"
        try:
            yield
        finally:
            sys.argv = argv
            if full_error is None:
                del os.environ["HYDRA_FULL_ERROR"]
            else:
                os.environ["HYDRA_FULL_ERROR"] = full_error


def _name_job(values: dict[str, Any], suffix: str) -> None:
    """Give a sweep's job its own run folder, and its own result file where one is asked for."""
    if "run" in values:
        values["run"] = f"{values['run']}-{suffix}"
    out = Path(values["out"]) if isinstance(values.get("out"), str) else None
    if out is not None and out.name:
        values["out"] = str(out.with_name(f"{out.stem}-{suffix}{out.suffix}"))


def _command_of(verb: Verb) -> Command:
    # Imported by name, and only now: a wrong key is told before the program's heavy half is loaded.
    command: Command = importlib.import_module(f"loop.commands.{verb.name}").main
    return command


def _description(verb: Verb) -> str:
    source = (Path(__file__).parent / "commands" / f"{verb.name}.py").read_text(encoding="utf-8")
    return ast.get_docstring(ast.parse(source)) or verb.summary


def _explain_value(error: OmegaConfBaseException) -> str:
    key = error.full_key or "a key"
    if isinstance(error, MissingMandatoryValue):
        return f"{key} has no value; add {key}=VALUE"
    return f"{key} cannot be resolved ({str(error).splitlines()[0]}); write a plain value"


def _yaml(path: Path) -> dict[str, Any]:
    values = OmegaConf.to_container(OmegaConf.load(path), resolve=False)
    assert isinstance(values, dict)
    return {str(key): value for key, value in values.items()}


def _flat(values: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _is_text(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _without_key(override: str) -> str:
    """Return an override as it may be shown: what names a key's variable may be the key itself."""
    key = override.partition("=")[0]
    return f"{key}=..." if key.endswith("api_key_env") else override


def _texts(items: Any) -> list[str]:
    # Unresolved: an override may hold an interpolation that only its own place can resolve.
    plain = OmegaConf.to_container(items, resolve=False)
    assert isinstance(plain, list)
    return [str(text) for text in plain]
