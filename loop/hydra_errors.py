"""One line from what Hydra says when it cannot compose: the key, what was found, and how to mend
it.

Reads Hydra's exceptions by their attributes and words, so that `loop.hydra_entry` stays the only
importer of Hydra.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from components.errors import ConfigError
from loop.config_keys import Key, dotted, unknown_key
from loop.verbs import nearest

_UNKNOWN = re.compile(
    r"Could not override '(?P<a>[^']+)'|Could not delete from config. '(?P<b>[^']+)' does not exist"
    r"|but config group '(?P<c>[^']+)' does not"
)
_THERE_ALREADY = re.compile(r"An item is already at '([^']+)'|Multiple values for (\S+)\. To")
_SWEEP = re.compile(r"(?:Ambiguous value for argument|Sweep parameters) '(.+?)'(?:\n| requires|$)")


def refuse_unreadable_choice(overrides: Sequence[str], keys: Sequence[Key]) -> None:
    """Refuse what cannot name a choice of a group: null, a path, a value with keys in it.

    A name that is not ours passes: a folder given with `-cd` may hold more choices.

    Raises:
        ConfigError: one line with the choices that there are.
    """
    groups = {key.name: key.choices for key in keys if key.choices}
    for override in overrides:
        name, _, value = override.lstrip("+").partition("=")
        name = dotted(name)
        if name in groups and (value == "null" or set(value) & set("/{")):
            raise ConfigError(_no_choice(name, value, groups[name]))


def explain_composition(error: Exception, overrides: Sequence[str], keys: Sequence[Key]) -> str:
    """Return the line for an error of Hydra or OmegaConf.

    Args:
        error: what Hydra raised.
        overrides: the overrides of the command line.
        keys: every key that there is.
    """
    unreadable = getattr(error, "override", None)
    if isinstance(unreadable, str):
        return _unreadable(unreadable, str(error), keys)
    options, missing = getattr(error, "options", None), getattr(error, "missing_cfg_file", None)
    if options is not None and isinstance(missing, str) and "/" in missing:
        return _unknown_choice(missing, list(options))
    nameless = [override for override in overrides if not override.lstrip("+~").partition("=")[0]]
    if nameless:
        return _unreadable(nameless[0], "", keys)
    text = str(error)
    if match := _SWEEP.search(text):
        key, _, values = match[1].partition("=")
        key = dotted(key)
        return (
            f"{key} has several values ({values}); add -m to run each, or write "
            f"'{key}=[{values}]' for a list"
        )
    if match := _THERE_ALREADY.search(text):
        key = match[1] or match[2]
        return f"{key} has a value already; give it once, without +: {key}={_value(key, overrides)}"
    if match := _UNKNOWN.search(text):
        name = match["a"] or match["b"] or match["c"]
        if name.startswith("hydra."):
            return f"there is no key '{name}' of Hydra; see --hydra-help for those that there are"
        return unknown_key(dotted(name), keys, _value(name, overrides))
    cause = f" ({str(error.__cause__).splitlines()[0]})" if error.__cause__ else ""
    return (
        f"the command line cannot be used: {' '.join(text.split())}{cause}; see --help for the keys"
    )


def _unreadable(override: str, message: str, keys: Sequence[Key]) -> str:
    key, equals, value = override.lstrip("+~").partition("=")
    if not key.strip():
        return f"the override '{override}' names no key; write key=value, such as task.k=2"
    if equals:
        reason = message.splitlines()[0]
        return (
            f"{key} has a value that cannot be read (got '{value}': {reason}); quote it: "
            f"'{key}=\"...\"'"
        )
    near = nearest(key, [item.name for item in keys if not item.is_section or item.choices])
    mend = f"did you mean {near}=VALUE?" if near else "write key=value, such as task.k=2"
    return f"'{override}' is no override (there is no '='); {mend}"


def _unknown_choice(missing: str, options: list[str]) -> str:
    group, _, choice = missing.rpartition("/")
    return _no_choice(dotted(group), choice, options)


def _no_choice(group: str, choice: str, options: Sequence[str]) -> str:
    near = nearest(choice, options)
    wanted = ", ".join(sorted(options))
    mend = f"did you mean {group}={near}?" if near else "choose one of them, or drop the override"
    return f"{group} must be one of {wanted} (got '{choice}'); {mend}"


def _value(name: str, overrides: Sequence[str]) -> str:
    for override in overrides:
        key, equals, value = override.lstrip("+~").partition("=")
        if key.partition("@")[0] == name and equals:
            return value
    return "VALUE"
