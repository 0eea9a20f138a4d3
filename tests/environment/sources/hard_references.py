"""Hard references."""

from __future__ import annotations

from typing import Any

from tests.environment.sources.hard_words import (
    KEPT,
    MENDED,
    NODE,
    TEXT,
    TREE,
    object_of,
    ref_to,
    with_defs,
)

# (what it tries, input schema with references, how it ends)
REFERENCES: tuple[tuple[str, Any, str], ...] = (
    ("reference into properties", object_of(a=TEXT, b={"$ref": "#/properties/a"}), KEPT),
    ("reference into items of a property", object_of(
        a={"type": "array", "items": TEXT}, b={"$ref": "#/properties/a/items"}), KEPT),
    ("reference into a list of items", object_of(
        a={"type": "array", "items": [TEXT]}, b={"$ref": "#/properties/a/items/0"}), KEPT),
    ("reference into anyOf", object_of(
        a={"anyOf": [TEXT, {"type": "null"}]}, b={"$ref": "#/properties/a/anyOf/0"}), KEPT),
    ("reference to the root", object_of(a=TEXT, child={"$ref": "#"}), KEPT),
    ("reference into $defs", with_defs(ref_to("t"), t=TEXT), KEPT),
    ("reference to a definition with a space", with_defs({"$ref": "#/$defs/my%20type"},
                                                     **{"my type": TEXT}), KEPT),
    ("reference to a definition with a slash", with_defs({"$ref": "#/$defs/a~1b"}, **{"a/b": TEXT}),
     KEPT),
    ("reference to a definition with a tilde", with_defs({"$ref": "#/$defs/a~0b"}, **{"a~b": TEXT}),
     KEPT),
    ("reference to a definition in Japanese", with_defs(ref_to("\u540d"), **{"\u540d": TEXT}),
        KEPT),
    ("reference to a definition with a space, not escaped", with_defs(ref_to("my type"),
                                                                  **{"my type": TEXT}), KEPT),
    ("reference to a generic's name", with_defs(ref_to("Page[Item]"), **{"Page[Item]": TEXT}),
        KEPT),
    ("reference to nowhere", with_defs(ref_to("none"), t=TEXT), MENDED),
    ("reference to the network", object_of(a={"$ref": "https://schema.invalid/a.json"}), MENDED),
    ("reference to a file", object_of(a={"$ref": "file:///etc/passwd"}), MENDED),
    ("reference to another file", object_of(a={"$ref": "other.json#/x"}), MENDED),
    ("reference a number", object_of(a={"$ref": 5}), MENDED),
    ("reference empty", object_of(a={"$ref": ""}), KEPT),
    ("reference to an anchor", with_defs({"$ref": "#here"}, t={"$anchor": "here", **TEXT}), KEPT),
    ("reference to an id of draft 4", with_defs({"$ref": "#here"}, t={"id": "#here", **TEXT}),
        KEPT),
    ("reference by the document's own id",
     {"$id": "https://schema.invalid/a", **with_defs({"$ref": "https://schema.invalid/a#/$defs/t"},
                                                 t=TEXT)}, KEPT),
    ("reference by a part's id", with_defs({"$ref": "Item"}, t={"$id": "Item", **TEXT}), KEPT),
    ("reference under an unknown keyword", {**object_of(a={"$ref": "#/components/schemas/P"}),
     "components": {"schemas": {"P": {"type": "str", "x": 1}}}}, MENDED),
    ("reference under two unknown keywords that lead in a circle", {
        **object_of(a={"$ref": "#/models/A"}), "models": {
            "A": object_of(b={"$ref": "#/models/B"}), "B": object_of(a={"$ref": "#/models/A"})}},
                KEPT),
    ("reference with siblings", with_defs({**ref_to("t"), "description": "x", "default": "y"},
        t=TEXT),
     KEPT),
    ("$dynamicRef", with_defs({"$dynamicRef": "#node"}, t={"$dynamicAnchor": "node", **TEXT}),
        KEPT),
    ("$recursiveRef", {"$recursiveAnchor": True, **object_of(a={"$recursiveRef": "#"})}, KEPT),
    ("tree of itself", with_defs(ref_to("tree"), tree=TREE), KEPT),
    ("tree of itself through anyOf with null", with_defs(ref_to("n"), n=object_of(
        next={"anyOf": [ref_to("n"), {"type": "null"}]})), KEPT),
    ("two definitions of each other", with_defs(
        ref_to("a"), a=object_of(b=ref_to("b")), b=object_of(a=ref_to("a"))), KEPT),
    ("definition that is itself", with_defs(ref_to("a"), a=ref_to("a")), MENDED),
    ("two definitions that are each other", with_defs(ref_to("a"), a=ref_to("b"), b=ref_to("a")),
        MENDED),
    ("definition that is itself through allOf", with_defs(ref_to("a"), a={"allOf": [ref_to("a"),
        TEXT]}),
     MENDED),
    ("definition that is itself through not", with_defs(ref_to("a"), a={"not": ref_to("a")}),
        MENDED),
    ("required without end", {**with_defs(ref_to("node"), node=NODE), "required": ["value"]},
     "uncallable"),
    ("optional, required within without end", with_defs(ref_to("node"), node=NODE), KEPT),
    ("alternatives that multiply", with_defs(ref_to("a0"), **{
        f"a{i}": {"anyOf": [ref_to(f"a{i + 1}"), ref_to(f"a{i + 1}")]} for i in range(30)},
        a30=TEXT), "too_tangled"),
    ("references in a chain of 200", with_defs(ref_to("a0"), **{
        f"a{i}": ref_to(f"a{i + 1}") for i in range(200)}, a200=TEXT), "too_tangled"),
    ("references in a chain of 20", with_defs(ref_to("a0"), **{
        f"a{i}": ref_to(f"a{i + 1}") for i in range(20)}, a20=TEXT), KEPT),
    ("300 definitions, each in use", {"type": "object", "properties": {
        f"p{i}": ref_to(f"d{i}") for i in range(300)}, "$defs": {f"d{i}":
            TEXT for i in range(300)}},
     KEPT),
    ("reference to properties as a whole", object_of(a=TEXT, b={"$ref": "#/properties"}), KEPT),
    ("reference into a default", object_of(a={"default": {"type": "string"}},
                                         b={"$ref": "#/properties/a/default"}), KEPT),
    ("reference through a list with a sign", object_of(a={"anyOf": [TEXT]},
                                                     b={"$ref": "#/properties/a/anyOf/-1"}),
                                                         MENDED),
)  # fmt: skip
