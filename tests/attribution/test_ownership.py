"""docs/ownership.md against the artifacts, the repairs and the faults."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from attribution.evidence import pointer_of
from attribution.faults.demo import demo_faults
from attribution.faults.kinds import plant
from attribution.ownership import REFERENCED
from attribution.swap import owner_of
from components.artifacts import artifacts_of
from components.errors import SynthesisError
from components.records.frozen import thaw
from components.records.patch import Component, Patch
from tests.attribution.hand_made import small_system

TABLE = Path(__file__).parents[2] / "docs" / "ownership.md"
ROW = re.compile(r"^\| (\w+) \| `([^`]+)` \| `([^`]+)` \| (.+) \|$", re.MULTILINE)


def rows() -> list[tuple[str, str, str, str]]:
    return [(m[1], m[2], m[3], m[4]) for m in ROW.finditer(TABLE.read_text("utf-8"))]


def matching(artifact: str, pointer: str) -> list[tuple[str, str, str, str]]:
    return [
        row
        for row in rows()
        if re.fullmatch(row[1].replace("*", "[^/]+"), artifact)
        and re.fullmatch(_pattern(row[2]), pointer)
    ]


def _pattern(path: str) -> str:
    start, deep, _ = path.partition("/**")
    whole = re.escape(start).replace(r"\*", "[^/]+")
    return f"{whole}(/.*)?" if deep else whole


def leaves(value: Any, at: str = "") -> Iterator[str]:
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from leaves(item, at + pointer_of(key))
    else:
        yield at


def is_container(artifact: str, pointer: str) -> bool:
    """Whether a path without a row of its own only holds paths that have one (an empty `tools`,
    say).
    """
    return any(
        re.fullmatch(row[1].replace("*", "[^/]+"), artifact) and row[2].startswith(pointer + "/")
        for row in rows()
    )


def test_every_path_has_exactly_one_owner() -> None:
    system = plant(small_system(), demo_faults(small_system(), 0))
    for component in Component:
        for artifact, body in artifacts_of(system, component).items():
            for pointer in leaves(thaw(body)):
                found = matching(artifact, pointer)
                owners = [row[0] for row in found]
                assert owners == [component.value] or (
                    not owners and is_container(artifact, pointer)
                ), f"{artifact}#{pointer}: {owners}"


def test_the_table_and_the_code_agree_on_owners() -> None:
    for owner, artifact, _path, _reference in rows():
        assert owner_of(artifact.replace("*", "any")).value == owner


def test_the_table_and_the_code_agree_on_what_may_be_patched() -> None:
    referenced = [(artifact, path) for _, artifact, path, reference in rows() if reference != "-"]

    assert sorted(REFERENCED) == sorted(referenced)


@pytest.mark.parametrize("artifact", ["spec/helpdesk", "contract", "certificate/t_1", "nothing"])
def test_references_have_no_owner(artifact: str) -> None:
    with pytest.raises(SynthesisError):
        owner_of(artifact)


def assert_touches_only_what_has_a_reference(patch: Patch) -> None:
    """Fail where an operation changes a path that has another owner, or no reference."""
    for step in patch.operations:
        if step.op != "test":
            found = matching(patch.artifact, step.path)
            assert [row[0] for row in found] == [patch.component.value], step.path
            assert found[0][3] != "-", step.path


def test_faults_touch_only_what_has_a_reference() -> None:
    for seed in range(4):
        for fault in demo_faults(small_system(8), seed):
            assert_touches_only_what_has_a_reference(fault)
