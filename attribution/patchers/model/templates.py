"""What a template by a model may do: show what it is given, choose, and go through lists.

Templates run in a sandbox without side effects, which still lets one compute for hours or fill the
memory. Here they are only read: what could do either is refused before anything is rendered.
"""

from __future__ import annotations

import jinja2
from jinja2 import nodes

from components.model.answers import Unusable

MAX_CHARS = 20_000
_MAX_LOOPS = 2
"""Loops inside each other."""
_ALLOWED = (
    nodes.Template, nodes.Output, nodes.TemplateData, nodes.Name, nodes.Const, nodes.Getattr,
    nodes.Getitem, nodes.For, nodes.If, nodes.Filter, nodes.Compare, nodes.Operand, nodes.And,
    nodes.Or, nodes.Not, nodes.Test, nodes.CondExpr, nodes.Slice, nodes.Neg, nodes.Keyword,
)  # fmt: skip
_FILTERS = frozenset(
    {"tojson", "join", "trim", "upper", "lower", "length", "first", "last", "sort", "default",
     "replace", "string"}
)  # fmt: skip


def check_template(name: str, text: str) -> None:
    """Make sure that a template can neither run long nor grow large.

    Args:
        name: how the setting is called.
        text: the template.

    Raises:
        Unusable: it is no template, or uses what is not allowed.
    """
    if len(text) > MAX_CHARS:
        raise Unusable(f"{name} has more than {MAX_CHARS} characters")
    try:
        tree = jinja2.Environment(autoescape=False).parse(text)
    except (jinja2.TemplateError, RecursionError) as error:
        raise Unusable(f"{name} is no template: {error}") from error
    _check(name, tree, 0)


def _check(name: str, node: nodes.Node, loops: int) -> None:
    if not isinstance(node, _ALLOWED):
        raise Unusable(f"{name}: a template may not use {type(node).__name__.lower()}")
    if isinstance(node, nodes.Filter) and node.name not in _FILTERS:
        raise Unusable(f"{name}: a template may not use the filter {node.name}")
    if isinstance(node, nodes.For):
        loops += 1
        if loops > _MAX_LOOPS or node.recursive:
            raise Unusable(f"{name}: a template may not have {loops} loops inside each other")
    for child in node.iter_child_nodes():
        _check(name, child, loops)
