"""Descriptions are strangers' text: cleaned where they are kept, and only ever shown."""

from __future__ import annotations

import pytest

from components.environment.sources.listed import RawListing, make_specs
from components.environment.sources.listing import spec_from_listing
from components.environment.sources.records import SourceKind
from components.environment.sources.text import clean_line, clean_text
from components.harness.defaults import default_harness
from components.harness.rendering import render_system
from components.harness.tools import ShownTool
from components.records.base import to_json

TEMPLATE = (
    "{{ 7 * 7 }} {% for x in ().__class__.__mro__ %}{{ x }}{% endfor %} ${HOME} {0.__class__}"
)


@pytest.mark.parametrize(
    ("dirty", "clean"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]8;;http://x.invalid\x07link\x1b]8;;\x07", "link"),
        ("\x1b]0;title\x1b\\shown", "shown"),
        ("\x9b2Jx", "x"),
        ("a\x00b\x08c\x7f", "abc"),
        ("line\r\nnext\rlast\u2028end", "line\nnext\nlast\nend"),
        ("user\u202etxt.exe", "usertxt.exe"),
        ("\u2066hidden\u2069", "hidden"),
        ("a\u200bb\ufeffc", "abc"),
        ("see\U000e0069\U000e0067", "see"),
        ("half\ud83d", "half"),
        ("\u0645\u06cc\u200c\u062e", "\u0645\u06cc\u200c\u062e"),
        ("tab\tstays", "tab\tstays"),
        ("\x1b", ""),
        (TEMPLATE, TEMPLATE),
    ],
)
def test_what_hides_or_moves_is_taken_out_and_the_rest_stays(dirty: str, clean: str) -> None:
    assert clean_text(dirty, 1_000) == clean


def test_texts_are_bounded() -> None:
    assert clean_text("x" * 100_000, 50) == "x" * 47 + "..."
    assert clean_line("a\n\n b\tc") == "a b c"


def test_no_text_of_a_spec_keeps_a_control_character_or_grows_without_bound() -> None:
    dirty = "\x1b[2J\u202e\x00" + "d" * 100_000
    tool = {
        "name": f"get{dirty[:8]}",
        "title": dirty,
        "description": dirty,
        "annotations": {"title": dirty},
        "inputSchema": {
            "title": dirty,
            "properties": {"a": {"description": dirty, "title": dirty, "format": dirty}},
        },
    }

    listing = spec_from_listing("svc", [tool], title=dirty, description=dirty, source=dirty)

    text = repr(to_json(listing.spec)) + repr(listing.notes)
    assert "\\x1b" not in text
    assert "\\u202e" not in text
    assert "\\x00" not in text
    assert len(text) < 30_000


def test_the_card_and_the_error_of_a_server_are_clean_too() -> None:
    dirty = "Evil\x1b[31m\u202e\nServer"
    shared = {"kind": SourceKind.STDIO, "origin": dirty, "source": "stdio:x"}
    good = RawListing(name=dirty, tools=[{"name": "get"}], licence=dirty, **shared)  # type: ignore[arg-type]

    (listed,) = make_specs([good], "2026-01-31")

    assert listed.card is not None
    assert listed.card.title == "Evil Server"
    assert listed.card.origin == "Evil Server"
    assert listed.card.licence == "Evil Server"


@pytest.mark.parametrize("style", ["json_schema", "signature", "compact"])
def test_a_description_that_is_a_template_is_shown_to_the_policy_as_it_is(style: str) -> None:
    schema = {"properties": {"a": {"type": "string", "description": TEMPLATE}}}
    tools = [{"name": "get", "description": TEMPLATE, "inputSchema": schema}]
    tool = spec_from_listing("svc", tools).spec.tools["get"]
    shown = ShownTool(
        name="svc__get",
        service="svc",
        tool="get",
        description=tool.description,
        schema=tool.input_schema,
    )
    settings = default_harness().model_copy(update={"tool_style": style})

    text = render_system(settings, [shown], "2026-01-31T09:00:00Z", [])

    assert "49" not in text
    assert "<class" not in text
    assert (TEMPLATE in text) is (style != "compact")
