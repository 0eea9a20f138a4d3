"""`bench fidelity`: its table, its file of figures, and what it says where it cannot measure."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from components.environment.fidelity.document import read_measurement
from components.environment.fidelity.records import Count, ToolFidelity, Verdict
from components.environment.sources.documents import read_document
from loop.__main__ import main
from loop.bench_fidelity import figures_of
from tests.environment.fidelity.shelf import LIFE, shelf, written

SERVERS = Path(__file__).parents[1] / "environment" / "fidelity" / "servers.yaml"


def test_table_and_figures_say_what_agrees(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    servers = {"good": shelf(), "bad": shelf("writes")}
    sequences = {"good": LIFE, "bad": LIFE}
    path = written(tmp_path, mcpServers=servers, sequences=sequences)
    out = tmp_path / "out.json"

    assert main(["bench", "fidelity", f"path='{path}'", f"out='{out}'"]) == 0

    shown = " ".join(capsys.readouterr().out.split())
    assert "good 5 5 5 of 5 5 of 5 4 of 4 5 of 5" in shown
    assert "bad 5 5 5 of 5 5 of 5 3 of 4 4 of 5" in shown
    assert "all 10 10 10 of 10 10 of 10 7 of 8 9 of 10" in shown
    assert "bad.update_book: read after write (0 of " in shown
    result = json.loads(out.read_text())
    assert result["figures"]["faithful"] == 9
    assert result["by_server"]["bad"]["faithful_share"] == 0.8
    tool = result["report"]["services"]["bad"]["tools"]["update_book"]
    assert tool["verdict"] == "unfaithful"


def test_taught_services_have_a_table_and_figures_of_their_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(
        tmp_path,
        mcpServers={"shelf": shelf("shape")},
        sequences={"shelf": [LIFE, LIFE]},
        learn="others",
    )
    out = tmp_path / "out.json"

    assert main(["bench", "fidelity", f"path='{path}'", f"out='{out}'"]) == 0

    shown = " ".join(capsys.readouterr().out.split())
    assert shown.count("server tools compared") == 2
    assert shown.index("shelf 5 5 5 of 5 0 of 5") < shown.index("shelf 5 5 5 of 5 5 of 5")
    result = json.loads(out.read_text())
    assert result["figures"]["shape"] == {"agree": 0, "of": 5}
    assert result["taught_figures"]["shape"] == {"agree": 5, "of": 5}
    assert set(result["taught_by_server"]) == {"shelf"}


def test_a_tool_without_a_verdict_is_not_compared() -> None:
    none, good, bad = (Count(agreed=a, of=b) for a, b in ((0, 0), (2, 2), (1, 2)))

    def tool(verdict: Verdict, shape: Count, *, prose: bool = False) -> ToolFidelity:
        return ToolFidelity(
            verdict=verdict,
            why="",
            errors=good,
            shape=shape,
            writes=none,
            differs_only_in_prose=prose,
        )

    figures = figures_of(
        [
            tool(Verdict.FAITHFUL, good),
            tool(Verdict.UNFAITHFUL, bad, prose=True),
            tool(Verdict.UNFAITHFUL, bad),
            tool(Verdict.UNVERIFIED, none),
        ]
    )

    assert figures == {
        "tools": 4,
        "compared": 3,
        "errors": {"agree": 3, "of": 3},
        "shape": {"agree": 1, "of": 3},
        "read_after_write": {"agree": 0, "of": 0},
        "faithful": 1,
        "faithful_share": 0.3333,
        "faithful_but_for_prose": 2,
    }


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("null", "bench fidelity needs a file of servers; set path=fidelity.yaml"),
        ("none.yaml", "none.yaml: cannot be read"),
    ],
)
def test_what_cannot_be_measured_is_one_line(
    path: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "fidelity", f"path={path}"]) == 2

    assert says in capsys.readouterr().err


def test_the_measurement_of_the_log_can_be_read() -> None:
    asked = read_measurement(SERVERS)

    assert [entry.name for entry in asked.entries] == sorted(asked.sequences)


def test_the_lessons_of_the_log_are_other_calls_of_the_same_servers(tmp_path: Path) -> None:
    whole = read_document(SERVERS)
    lessons = read_document(SERVERS.with_name("lessons.yaml"))
    path = written(tmp_path, mcpServers=whole["mcpServers"], sequences=lessons["sequences"])

    asked, others = read_measurement(path), read_measurement(SERVERS)

    assert set(asked.sequences) == set(others.sequences)
    for server, sequences in asked.sequences.items():
        assert not set(sequences) & set(others.sequences[server])
