"""Scenes: services of kinds that everybody knows, on invented servers."""

from __future__ import annotations

from typing import Any

import pytest

from components.environment.compiler.compile import compile_spec
from components.environment.gates.run import admit_service
from tests.environment.test_compiler import TEXT, spec_of, tool, world_of
from tests.environment.test_compiler_upserts import play

REPO = "/home/mira/projects/tide-tables"
FILES = {"type": "array", "items": TEXT}
STATUS = tool("vcs_status", "repository", description="Show the working tree status.",
              repository=TEXT)  # fmt: skip
STAGE = tool("vcs_stage_files", "repository", "paths", description="Add files to the staging area.",
             repository=TEXT, paths=FILES)  # fmt: skip
COMMIT = tool("vcs_commit", "repository", "msg", description="Commit what is staged.",
              repository=TEXT, msg=TEXT)  # fmt: skip
HISTORY = tool("vcs_history", "repository", description="List the commits of the current branch.",
               repository=TEXT)  # fmt: skip
BRANCH = tool("vcs_create_branch", "repository", "name", description="Create a branch.",
              repository=TEXT, name=TEXT)  # fmt: skip
SWITCH = tool("vcs_switch", "repository", "branch", description="Switch to a branch.",
              repository=TEXT, branch=TEXT)  # fmt: skip
EVERY = (STATUS, STAGE, COMMIT, HISTORY, BRANCH, SWITCH)


def answers(*calls: tuple[str, dict[str, Any]]) -> list[Any]:
    placed = [(name, {"repository": REPO, **arguments}) for name, arguments in calls]
    _, said = play(world_of(spec_of(*EVERY)), *placed)
    return [item["result"] if not isinstance(item, str) else item for item in said]


def test_what_is_staged_is_committed_and_stands_in_the_history() -> None:
    said = answers(
        ("vcs_stage_files", {"paths": ["notes"]}),
        ("vcs_status", {}),
        ("vcs_commit", {"msg": "Keep what Brest wrote"}),
        ("vcs_status", {}),
        ("vcs_history", {}),
    )

    staged, _, changed = said[1].partition("Changes not staged")
    assert "notes/brest.txt" in staged
    assert "src/tides.py" in changed
    assert "notes/brest.txt" not in said[3]
    assert said[4].index("Keep what Brest wrote") < said[4].index("Round heights")


def test_nothing_staged_and_files_that_are_not_there_are_refused() -> None:
    said = answers(
        ("vcs_stage_files", {"paths": ["absent.txt"]}),
        ("vcs_commit", {"msg": "All of it"}),
        ("vcs_commit", {"msg": "Nothing is left"}),
    )

    assert said[0] == "not_found"
    assert said[2] == "precondition_failed"


def test_a_branch_has_its_own_history() -> None:
    said = answers(
        ("vcs_switch", {"branch": "autumn"}),
        ("vcs_create_branch", {"name": "autumn"}),
        ("vcs_create_branch", {"name": "autumn"}),
        ("vcs_switch", {"branch": "autumn"}),
        ("vcs_commit", {"msg": "Only in autumn"}),
        ("vcs_switch", {"branch": "main"}),
        ("vcs_history", {}),
    )

    assert (said[0], said[2]) == ("not_found", "conflict")
    assert "Only in autumn" not in said[6]


def test_its_tools_hold_what_they_promise() -> None:
    spec = spec_of(*EVERY)
    blueprint, seed, why = compile_spec(spec)

    admission = admit_service(spec, blueprint, seed)

    assert set(admission.blueprint.tools) == set(spec.tools)
    assert why["vcs_stage_files"] == "it is the 'add' of version control"


@pytest.mark.parametrize("left_out", [STAGE, COMMIT, HISTORY])
def test_a_service_without_what_a_scene_needs_is_compiled_as_ever(left_out: dict[str, Any]) -> None:
    _, _, why = compile_spec(spec_of(*(item for item in EVERY if item is not left_out)))

    assert not any("version control" in reason for reason in why.values())


def test_a_tool_that_must_be_told_more_has_no_part() -> None:
    strict = tool("vcs_commit", "repository", "msg", "signer", description="Commit what is staged.",
                  repository=TEXT, msg=TEXT, signer=TEXT)  # fmt: skip

    _, _, why = compile_spec(spec_of(STATUS, STAGE, strict, HISTORY))

    assert not any("version control" in reason for reason in why.values())
