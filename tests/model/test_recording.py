"""A recording keeps every exchange, refuses what it did not write, and holds no key."""

from __future__ import annotations

from pathlib import Path

import pytest

from components.errors import ConfigError
from components.model.endpoint import open_door
from components.model.recording import Recording
from components.model.records import Message, Request, Tried
from tests.model.served import Play, desk_config, in_turn, serve

REQUEST = Request(
    stage="write", model="m", temperature=0.0, seed=1,
    messages=(Message(role="system", content="s"), Message(role="user", content="p")),
)  # fmt: skip


def test_a_replay_that_lacks_an_answer_names_the_key(tmp_path: Path) -> None:
    path = tmp_path / "empty.jsonl"
    path.touch()
    recording = Recording(path, key="desk.replay", is_replay=True)

    with pytest.raises(ConfigError, match=r"desk.replay: .* of stage write"):
        recording.check_live(REQUEST)


def test_a_file_of_something_else_is_refused_and_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "other.jsonl"
    path.write_text('{"name": "a spec"}\n')

    with pytest.raises(ConfigError, match=r"line 1 of .* is no exchange"):
        Recording(path)

    assert path.read_text() == '{"name": "a spec"}\n'


def test_a_missing_replay_is_a_clear_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"desk.replay: .* No such file"):
        Recording(tmp_path / "none.jsonl", key="desk.replay", is_replay=True)


def test_failed_requests_of_a_stopped_run_are_asked_again_but_stay_counted(tmp_path: Path) -> None:
    path = tmp_path / "exchanges.jsonl"
    first = Recording(path)
    first.ask(REQUEST, 300)
    first.answer(REQUEST, Tried(problem="no answer within 5 s", may_retry=True))
    first.ask(REQUEST, 200)

    second = Recording(path)

    assert second.take(REQUEST) is None
    assert [(item.max_tokens, item.tried.may_cost) for item in second.failed] == [
        (300, True), (200, True),
    ]  # fmt: skip


def test_the_key_is_never_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SELVAGE_TEST_KEY", "sk-very-secret")
    path = tmp_path / "exchanges.jsonl"
    with serve(in_turn(Play(status=401, body=b"sk-very-secret is wrong"))) as served:
        tried = open_door(desk_config(served.base_url))(REQUEST, 256)
    recording = Recording(path)
    recording.ask(REQUEST, 256)
    recording.answer(REQUEST, tried)

    assert served.keys == ["Bearer sk-very-secret"]
    assert b"secret" not in path.read_bytes()


def test_a_file_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "exchanges.jsonl"
    recording = Recording(path, key="desk.record")
    path.unlink()
    path.mkdir()

    with pytest.raises(ConfigError, match=r"desk.record: .* cannot be written \(Is a directory\)"):
        recording.ask(REQUEST, 256)
