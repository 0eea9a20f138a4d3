"""The content-addressed store: what is read is what was written, or an error that names the
file."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from components.errors import LedgerError
from loop.store import Store


def test_a_body_lies_under_its_hash(tmp_path: Path) -> None:
    key = Store(tmp_path).put({"b": 1, "a": [2]})

    assert key == hashlib.sha256(b'{"a":[2],"b":1}').hexdigest()
    assert (tmp_path / key[:2] / f"{key[2:]}.json").read_bytes() == b'{"a":[2],"b":1}'


def test_a_body_comes_back_as_it_went_in(tmp_path: Path) -> None:
    store = Store(tmp_path)
    body = {"text": "h\u00e9 \u4e2d \ud800", "empty": {}, "list": [1, 2.5, None, True]}

    assert store.get(store.put(body)) == body


def test_writing_twice_is_writing_once(tmp_path: Path) -> None:
    store = Store(tmp_path)
    path = store.path_of(store.put([1]))
    before = path.stat().st_mtime_ns

    store.put([1])

    assert path.stat().st_mtime_ns == before
    assert len(list(tmp_path.rglob("*.json"))) == 1


def test_a_flipped_byte_is_found_and_the_file_named(tmp_path: Path) -> None:
    store = Store(tmp_path)
    key = store.put({"value": 10})
    path = store.path_of(key)
    path.write_bytes(path.read_bytes().replace(b"10", b"11"))

    with pytest.raises(LedgerError) as caught:
        store.get(key)

    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_body_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    store = Store(tmp_path)

    with pytest.raises(LedgerError, match="is missing from the store"):
        store.get("ab" * 32)


def test_putting_a_body_again_mends_its_damaged_file(tmp_path: Path) -> None:
    store = Store(tmp_path)
    key = store.put([1, 2, 3])
    store.path_of(key).write_bytes(b"[1,2")

    store.put([1, 2, 3])

    assert store.get(key) == [1, 2, 3]
