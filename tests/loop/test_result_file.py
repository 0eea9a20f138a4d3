"""The file of `out=`: refused before the work where it could not be written after it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from components.errors import ConfigError
from loop.result_file import check_result_file, write_result


def test_missing_folders_are_made_when_the_work_is_done(tmp_path: Path) -> None:
    out = str(tmp_path / "a" / "b.json")

    check_result_file(out)

    assert not (tmp_path / "a").exists()
    write_result(out, {"n": 1})
    assert json.loads((tmp_path / "a" / "b.json").read_bytes()) == {"n": 1}


def test_a_folder_or_a_place_under_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")

    for out in ("", ".", str(tmp_path), f"{tmp_path}/new/", f"{tmp_path}/file/o.json"):
        with pytest.raises(ConfigError, match=r"^out (must name a file|cannot be written)"):
            check_result_file(out)
