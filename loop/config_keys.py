"""What keys a configuration has, read from its models: for `--help` and for naming the key that was
meant.

Knows models, not values: defaults are passed in. Knows nothing of Hydra.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, get_args

from components.records.config import Config
from loop.verbs import Verb, nearest

WIDTH = 110
_FOLDERS = {"task.author": "author_of_task"}
"""Groups whose folder is not called by their name: a folder `task` would make a group of the key
`task` of `show`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One dotted key."""

    name: str
    meaning: str
    choice: str
    """`policy=openai` for a key that only this choice has; empty for a key that is always there."""
    choices: tuple[str, ...] = ()
    """For a group: the choices there are. Empty for a section and for a plain key."""
    is_section: bool = False
    """True for a group or section: it holds keys and takes no value of its own."""

    @property
    def folder(self) -> str:
        """Folder of a group's choices below `conf/`."""
        return _FOLDERS.get(self.name, self.name.replace(".", "/"))


def dotted(group: str) -> str:
    """Return a group's key by its folder; Hydra's own groups keep their slashes."""
    named = {folder: name for name, folder in _FOLDERS.items()}
    plain = group if group.startswith("hydra/") else group.replace("/", ".")
    return named.get(group, plain)


def keys_of(model: type[Config], prefix: str = "", choice: str = "") -> list[Key]:
    """Return every dotted key of a model in order, groups with the keys of all their choices."""
    keys: list[Key] = []
    for field_name, field in model.model_fields.items():
        name = prefix + (field.alias or field_name)
        members = _models_in(field.annotation)
        kinds = tuple(_kind_of(member) for member in members) if len(members) > 1 else ()
        if not (field_name == "kind" and choice):
            keys.append(
                Key(
                    name=name,
                    meaning=field.description or "",
                    choice=choice,
                    choices=kinds,
                    is_section=bool(members),
                )
            )
        for member in members:
            inner = f"{name}={_kind_of(member)}" if kinds else choice
            keys += keys_of(member, f"{name}.", inner)
    return keys


def unknown_key(name: str, keys: Iterable[Key], value: str = "VALUE") -> str:
    """Return the line that says that a key is not there, which was meant, and how to mend it."""
    known = list(keys)
    owners = [key.choice for key in known if key.name == name and key.choice]
    if owners:
        return f"the key '{name}' belongs to {owners[0]}; add {owners[0]} or drop the override"
    near = nearest(name, [key.name for key in known])
    if not near:
        return f"there is no key '{name}'; drop the override, or see the keys with --help"
    sections = {key.name: key for key in known if key.is_section}
    if near in sections:
        choices = sections[near].choices
        if not choices:
            return f"there is no key '{name}'; did you mean a key of '{near}'? --help shows them"
        value = nearest(value, choices) or choices[0]
    return (
        f"there is no key '{name}'; did you mean '{near}'? Write {near}={value} or drop the "
        "override"
    )


def verb_help(
    verb: Verb, description: str, model: type[Config], defaults: Mapping[str, Any]
) -> str:
    """Return the text of `python -m loop VERB --help`.

    Args:
        verb: the verb.
        description: what it does, in sentences.
        model: its configuration.
        defaults: dotted key -> default, for every key of every choice.
    """
    keys = [key for key in keys_of(model) if key.name != verb.subject_key]
    subject = f" {{{','.join(verb.subjects)}}}" if verb.subjects else ""
    subject += f" {verb.words_key.upper()}..." if verb.words_key else ""
    lines = [f"usage: python -m loop {verb.name}{subject} [key=value ...] [-m] [--cfg job]", ""]
    lines += [description.strip(), ""]
    groups = [key for key in keys if key.choices]
    if groups:
        lines.append("groups (group=choice; the first is the default):")
        width = max(12, *(len(key.name) + 2 for key in groups))
        for key in groups:
            default = str(defaults[key.name])
            choices = [default, *(choice for choice in key.choices if choice != default)]
            lines.append(f"  {key.name:<{width}}{' | '.join(choices):<28}{key.meaning}")
        lines.append("")
    lines.append("keys (key=value):")
    heading = ""
    for key in keys:
        if key.choice != heading and key.choice:
            lines.append(f"  with {key.choice}:")
        heading = key.choice
        if not key.is_section:
            indent = "    " if key.choice else "  "
            default = defaults.get(f"{key.choice} {key.name}", defaults.get(key.name))
            lines += _key_lines(indent, f"{key.name}={_shown(default)}", key.meaning)
    lines += [
        "",
        "flags:",
        "  -m            sweep over comma-separated values (seed=0,1): every combination, a "
        "run folder each",
        "  --cfg job     show the configuration that would be used, and stop",
        "  --hydra-help  the flags and keys of Hydra itself (launchers, sweepers)",
    ]
    return "\n".join(lines)


def _key_lines(indent: str, setting: str, meaning: str) -> list[str]:
    column = 50
    wrapped = textwrap.wrap(meaning, WIDTH - column) or [""]
    head = indent + setting
    if len(head) >= column:
        return [head, *(" " * column + line for line in wrapped)]
    return [head.ljust(column) + wrapped[0], *(" " * column + line for line in wrapped[1:])]


def _shown(value: Any) -> str:
    if value == "???":
        return "(must be given)"
    if isinstance(value, list):
        return "[" + ",".join(_shown(item) for item in value) + "]"
    return value if isinstance(value, str) else json.dumps(value)


def _models_in(annotation: Any) -> list[type[Config]]:
    """Return the models that an annotation names: one for a section, several for a group."""
    parts = get_args(annotation) or (annotation,)
    return [part for part in parts if isinstance(part, type) and issubclass(part, Config)]


def _kind_of(member: type[Config]) -> str:
    if "kind" not in member.model_fields:
        return ""
    return str(get_args(member.model_fields["kind"].annotation)[0])
