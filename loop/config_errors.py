"""One line from a refused configuration: the key, the rule, what was found, and how to mend it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from components.records.config import Config
from loop.config_keys import keys_of, unknown_key
from loop.verbs import nearest

_LOGIN = re.compile(r"://[^/@\s]*@")
"""User and password of an address; neither is shown."""
_QUERY = re.compile(r"(://[^\s?#']*)([?#])[^\s']+")
"""What follows an address, where keys are put as well."""
_EXPECTED = {
    "int_type": "must be an integer",
    "int_from_float": "must be an integer",
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "string_type": "must be text",
    "bool_type": "must be true or false",
    "tuple_type": "must be a list, such as [a,b]",
    "model_type": "must be a group of keys",
    "model_attributes_type": "must be a group of keys",
    "string_pattern_mismatch": "is not of the form that --help describes",
    "string_too_short": "must not be empty",
    "too_short": "must not be empty",
}
_BOUNDS = {
    "greater_than_equal": (">=", "ge"),
    "greater_than": (">", "gt"),
    "less_than_equal": ("<=", "le"),
    "less_than": ("<", "lt"),
}


def explain(
    error: ValidationError, model: type[Config], values: Any, defaults: Mapping[str, Any]
) -> str:
    """Return the line for a configuration that its model refuses.

    Args:
        error: what the model said.
        model: the configuration's model.
        values: the values that it refused, as plain JSON.
        defaults: dotted key -> default, for the advice.
    """
    details = error.errors(include_url=False)
    line = _explain_one(details[0], model, values, defaults)
    more = len(details) - 1
    return f"{line} (and {more} more to mend after it)" if more else line


def _explain_one(
    detail: ErrorDetails, model: type[Config], values: Any, defaults: Mapping[str, Any]
) -> str:
    key = dotted_path(detail["loc"], values)
    found = detail["input"]
    context = detail.get("ctx", {})
    match detail["type"]:
        case "value_error":
            return str(context["error"])
        case "extra_forbidden":
            name, value = _first_leaf(key, found)
            return unknown_key(name, keys_of(model), _shown(value))
        case "missing":
            return f"{key} is missing; {_missing_advice(key, model)}"
        case "literal_error":
            wanted = str(context["expected"]).replace("'", "").replace(" or ", ", ")
            near = nearest(str(found), wanted.split(", "))
            advice = (
                f"set {key}={near} or drop the override"
                if near
                else _advice(key, defaults, values, found)
            )
            return f"{key} must be one of {wanted} (got {_quoted(found)}); {advice}"
        case "union_tag_invalid" | "union_tag_not_found":
            wanted = str(context.get("expected_tags", "")).replace("'", "")
            return (
                f"{key} must be chosen as a group, {key}=CHOICE, one of {wanted} (got "
                f"{_quoted(found)})"
            )
        case kind if kind in _BOUNDS:
            sign, bound = _BOUNDS[kind]
            return (
                f"{key} must be {sign} {context[bound]} (got {_quoted(found)}); "
                f"{_advice(key, defaults, values, found)}"
            )
        case kind:
            rule = _EXPECTED.get(kind, f"cannot be used: {detail['msg'].lower()}")
            return f"{key} {rule} (got {_quoted(found)}); {_advice(key, defaults, values, found)}"


def dotted_path(location: Sequence[str | int], values: Any) -> str:
    """Return the key as the command line writes it, without the tags of unions."""
    node, is_tagged = values, False
    path: list[str] = []
    for part in location:
        # The tag comes first; a field may have the tag's name (`model`).
        if isinstance(node, Mapping) and node.get("kind") == part and not is_tagged:
            is_tagged = True
            continue
        is_tagged = False
        path.append(str(part))
        if isinstance(node, Mapping):
            node = node.get(part)
        elif isinstance(node, list) and isinstance(part, int) and part < len(node):
            node = node[part]
        else:
            node = None
    return ".".join(path)


def _first_leaf(key: str, value: Any) -> tuple[str, Any]:
    while isinstance(value, Mapping) and value:
        name = sorted(value)[0]
        key, value = f"{key}.{name}", value[name]
    return key, value


def _missing_advice(key: str, model: type[Config]) -> str:
    choice = next((item.choice for item in keys_of(model) if item.name == key and item.choice), "")
    if choice:
        return f"choose the whole group with {choice}"
    if any(part.isdigit() for part in key.split(".")):
        return "add it to that entry of the list"
    return f"drop the override ~{key}"


def _advice(key: str, defaults: Mapping[str, Any], values: Any, found: Any) -> str:
    """Return what to set instead: the default, of the choice that was made where there are several;
    a value of the user's own where there is no default that would do."""
    default = defaults.get(f"{_choice_of(key, values)} {key}", defaults.get(key))
    is_refused = type(default) is type(found) and default == found
    if default == "???" or is_refused:
        return f"set {key}={'[VALUE]' if isinstance(default, list) else 'VALUE'}"
    if default is None:
        return "drop the override"
    return f"set {key}={_shown(default)} or drop the override"


def _choice_of(key: str, values: Any) -> str:
    """Return the innermost choice that a key is part of, as `group=choice`; empty where none is."""
    choice, path = "", []
    for part in key.split("."):
        path.append(part)
        values = values.get(part) if isinstance(values, Mapping) else None
        if isinstance(values, Mapping) and isinstance(values.get("kind"), str):
            choice = f"{'.'.join(path)}={values['kind']}"
    return choice


def _quoted(value: Any) -> str:
    text = f"'{value}'" if isinstance(value, str) else json.dumps(value, default=str)
    text = _QUERY.sub(r"\1\2***", _LOGIN.sub("://***@", text))
    return text if len(text) <= 60 else text[:57] + "..."


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ",".join(_shown(item) for item in value) + "]"
    return value if isinstance(value, str) else json.dumps(value, default=str)
