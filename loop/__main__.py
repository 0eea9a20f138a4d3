"""The command line: `python -m loop VERB [key=value ...]`, also installed as `selvage`.

Owns dispatch and exit status: 0 done, 2 one line on stderr that the user can act on, 130
interrupted, 141 nobody reads stdout any more. What is our own mistake keeps its traceback. Hydra
and everything behind it is imported only once a verb is known.
"""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Callable, Sequence

from components.errors import ConfigError, UserError
from loop.verbs import VERBS, Verb, find_verb, nearest, program_help


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb and return the exit status.

    Args:
        argv: arguments after the program's name; None takes them from the command line.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    if not arguments or arguments[0] in ("--help", "-h", "help"):
        print(program_help())
        return 0
    return guarded(lambda: _run(arguments))


def guarded(run: Callable[[], int]) -> int:
    """Return the exit status of `run`, with one line on stderr for what the user can mend."""
    try:
        status = run()
        if sys.stdout is not None:
            sys.stdout.flush()
        return status
    except UserError as error:
        if sys.stderr is not None:
            print(f"selvage: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # Who read our stdout has gone; the interpreter must not try to write there once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 141
    except KeyboardInterrupt:
        print("selvage: interrupted; the same command resumes what can be resumed", file=sys.stderr)
        return 130


def _run(arguments: list[str]) -> int:
    verb = _verb(arguments[0])
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
        if text.startswith("-") or ("=" in text and not os.path.exists(text)):
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


if __name__ == "__main__":
    sys.exit(main())
