"""The command line: `python -m loop VERB [key=value ...]`, also installed as `selvage`.

Owns dispatch and exit status: 0 done, 2 one line on stderr that the user can act on, 74 stdout
cannot be written, 130 interrupted, 141 nobody reads stdout any more, 143 terminated. What is our
own mistake keeps its traceback. Hydra and everything behind it is imported only once a verb is
known.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from components.errors import ConfigError, UserError
from loop.verbs import VERBS, Verb, find_verb, nearest, program_help


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb and return the exit status.

    Args:
        argv: arguments after the program's name; None takes them from the command line.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    return guarded(lambda: _run(arguments))


class Terminated(KeyboardInterrupt):
    """SIGTERM has come: whoever tidies up after Ctrl-C tidies up after this too."""


def guarded(run: Callable[[], int]) -> int:
    """Return the exit status of `run`, with one line on stderr for what the user can mend."""
    try:
        with _terminable(), _stdout():
            status = run()
            sys.stdout.flush()
            return status
    except UserError as error:
        _tell(str(error))
        return 2
    except BrokenPipeError:
        _give_stdout_up()
        return 141
    except Terminated:
        _tell("terminated; the same command resumes what can be resumed")
        return 143
    except KeyboardInterrupt:
        _tell("interrupted; the same command resumes what can be resumed")
        return 130
    except OSError as error:
        if not _is_stdout_broken():
            raise
        _give_stdout_up()
        _tell(
            f"stdout cannot be written ({error.strerror or error}); mend that, and give the same "
            "command again: what is recorded is kept"
        )
        return os.EX_IOERR


@contextmanager
def _stdout() -> Iterator[None]:
    """Give what is printed somewhere to go while the block lasts, where stdout is closed."""
    if sys.stdout is not None:
        yield
        return
    with open(os.devnull, "w", encoding="utf-8") as nowhere, contextlib.redirect_stdout(nowhere):
        yield


@contextmanager
def _terminable() -> Iterator[None]:
    """Make SIGTERM an exception while the block lasts, where nobody has chosen otherwise."""
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return

    def end(number: int, frame: object) -> None:
        del number, frame
        raise Terminated

    signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _tell(text: str) -> None:
    """Write one line to stderr, where there is one."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError):
            print(f"selvage: {' '.join(text.split())}", file=sys.stderr, flush=True)


def _is_stdout_broken() -> bool:
    try:
        os.write(sys.stdout.fileno(), b"\n")
    except (AttributeError, io.UnsupportedOperation):  # closed, or a stream of a test
        return False
    except OSError:
        return True
    return False


def _give_stdout_up() -> None:
    """Keep the interpreter from writing there once more when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _run(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("--help", "-h", "help"):
        print(program_help())
        return 0
    verb = _verb(arguments[0])
    try:
        os.getcwd()
    except FileNotFoundError:
        raise ConfigError("the working directory is gone; change to one that is there") from None
    words, overrides = _split_words(verb, _with_subject(verb, arguments[1:]))

    # Not at the top: this import takes half a second, and the help must not wait for it.
    from loop.hydra_entry import run_verb

    return run_verb(verb, overrides, words=words)


def _verb(name: str) -> Verb:
    verb = find_verb(name)
    if verb is None:
        names = [verb.name for verb in VERBS]
        near = nearest(name, names)
        mend = f"did you mean '{near}'?" if near else f"the verbs are {', '.join(names)};"
        raise ConfigError(f"there is no verb '{name}'; {mend} See python -m loop --help")
    return verb


def _with_subject(verb: Verb, arguments: list[str]) -> list[str]:
    """Turn the word after the verb into an override, where the verb takes one."""
    if not verb.subject_key:
        return arguments
    words = [text for text in arguments[:1] if "=" not in text and not text.startswith("-")]
    choices = ", ".join(verb.subjects)
    if not words:
        is_named = any(text.startswith(f"{verb.subject_key}=") for text in arguments)
        if is_named or "--help" in arguments or "-h" in arguments:
            return arguments
        raise ConfigError(
            f"{verb.name} needs a {verb.subject_key} (one of {choices}); "
            f"write python -m loop {verb.name} {verb.subjects[0]}"
        )
    word = words[0]
    if word not in verb.subjects:
        near = nearest(word, verb.subjects) or verb.subjects[0]
        raise ConfigError(
            f"there is no {verb.subject_key} '{word}' (one of {choices}); "
            f"write python -m loop {verb.name} {near}"
        )
    return [f"{verb.subject_key}={word}", *arguments[1:]]


def _split_words(verb: Verb, arguments: list[str]) -> tuple[list[str], list[str]]:
    """Take the words after the verb apart from its overrides, where it takes words."""
    if not verb.words_key:
        return [], arguments
    count = 0
    for text in arguments:
        if text.startswith("-") or ("=" in text and not _is_path(text)):
            break
        count += 1
    rest = arguments[count:]
    for before, text in itertools.pairwise(rest):
        if "=" not in text and not text.startswith("-") and not before.startswith("-"):
            raise ConfigError(
                f"'{text}' stands after '{before}'; write the {verb.words_key} first: "
                f"python -m loop {verb.name} {text} {before}"
            )
    is_named = any(text.startswith(f"{verb.words_key}=") for text in rest)
    if not count and not is_named and "--help" not in rest and "-h" not in rest:
        raise ConfigError(
            f"{verb.name} needs {verb.words_key}; write python -m loop {verb.name} "
            f"{verb.words_key.upper()}..."
        )
    return arguments[:count], rest


def _is_path(text: str) -> bool:
    """Whether a word with `=` in it is a path, there or not, rather than an override."""
    key = text.partition("=")[0]
    return os.path.exists(text) or ("/" in key and not key.lstrip("+~").startswith("hydra/"))


if __name__ == "__main__":
    sys.exit(main())
