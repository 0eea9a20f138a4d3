"""The shape of the code.

Sizes, empty package files, and one rollout that can be read in eight files.
"""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROLLOUT_FILES = (
    "conf/evolve.yaml",
    "loop/commands/evolve.py",
    "loop/round.py",
    "loop/rollouts.py",
    "components/harness/episode.py",
    "components/megamcp/session.py",
    "components/evaluator/rubric.py",
    "components/records/trajectory.py",
)
PACKAGES = ("loop", "components", "attribution", "conf", "tests")


def python_files() -> list[Path]:
    return sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


def test_one_rollout_is_read_in_eight_files_under_2000_lines() -> None:
    lines = {name: len((ROOT / name).read_text().splitlines()) for name in ROLLOUT_FILES}

    assert sum(lines.values()) < 2000, lines


def test_no_python_file_is_over_500_lines() -> None:
    long = {
        str(path): n for path in python_files() if (n := len(path.read_text().splitlines())) > 500
    }

    assert not long


def test_package_files_are_empty() -> None:
    filled = [
        str(path) for path in python_files() if path.name == "__init__.py" and path.read_text()
    ]

    assert not filled


def test_code_is_ascii() -> None:
    odd = [str(path) for path in python_files() if not path.read_text(encoding="utf-8").isascii()]

    assert not odd


def test_every_package_is_listed_for_installation() -> None:
    import tomllib

    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    there = {
        ".".join(path.parent.relative_to(ROOT).parts)
        for package in PACKAGES[:-1]
        for path in (ROOT / package).rglob("__init__.py")
    }

    assert sorted(there) == sorted(listed)
