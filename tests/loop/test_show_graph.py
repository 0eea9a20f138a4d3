"""`show graph=FOLDER`: what joins a set's tools, told and drawn; mistakes are one line."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from loop.__main__ import main

KEYS = ("environment.services=[directory,helpdesk,mail]", "task.k=2", "task.walk_length=4")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("graph") / "tasks"
    more = ("task.distractors=1", "task.count=2", "compute=local", f"out='{folder}'")
    assert main(["compose", *KEYS, *more, f"runs_dir='{folder.parent}'"]) == 0
    return folder


def show(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    capsys.readouterr()
    assert main(["show", *words]) == 0
    return capsys.readouterr().out


def svg_of(path: Path) -> ElementTree.Element:
    found = re.search(r"<svg.*?</svg>", path.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    return ElementTree.fromstring(found.group())


def test_the_whole_is_counted_as_the_file_has_it(
    made: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    body = json.loads((made / "graph.json").read_bytes())

    out = show(capsys, f"graph='{made}'")

    assert f"{len(body['tools'])} tools" in out
    for kind in ("value", "state", "reaction"):
        count = sum(edge["kind"] == kind for edge in body["edges"])
        assert count
        assert re.search(rf"{kind} +{count} edges", out)


def test_edges_in_and_out_and_the_shortest_chain_are_shown(
    made: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    into = show(capsys, f"graph='{made}'", "to=helpdesk.close_ticket")
    out = show(capsys, f"graph='{made}'", "from=helpdesk.get_ticket")
    both = show(capsys, f"graph='{made}'", "from=mail.get_message", "to=directory.set_leave")

    assert re.search(r"helpdesk.resolve_ticket +helpdesk.ticket.status as a rule asks", into)
    assert re.search(r"directory.get_employee +employee_id <- /ticket/assignee_id", out)
    assert "Shortest chain: 3 calls" in both


def test_a_graph_and_a_walk_are_drawn(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    body = json.loads((made / "graph.json").read_bytes())
    line = json.loads((made / "tasks.jsonl").read_bytes().splitlines()[0])
    name, gold = line["task"]["task_id"], line["task"]["gold"]

    show(capsys, f"graph='{made}'", f"out='{tmp_path / 'graph.html'}'")
    show(capsys, f"task='{made / name}'", f"out='{tmp_path / 'task.html'}'")

    texts = {item.text for item in svg_of(tmp_path / "graph.html").iter("text")}
    assert {"directory", "helpdesk", "mail"} <= texts
    assert {tool.partition(".")[2] for tool in body["tools"]} <= texts
    crossing = {
        (edge["source"], edge["target"])
        for edge in body["edges"]
        if edge["source"].split(".")[0] != edge["target"].split(".")[0]
    }
    assert len(list(svg_of(tmp_path / "graph.html").iter("path"))) == len(crossing)
    walk = {item.text for item in svg_of(tmp_path / "task.html").iter("text")}
    assert {f"{key} {step['tool']}" for key, step in gold.items()} <= walk


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["graph='{made}'", "from=helpdesk.get_tickt"], "nearest are helpdesk.get_ticket"),
        (["graph='{made}'", "to=nobody"], "to: there is no tool 'nobody'"),
        (["graph='{made}/none'"], "is no task set"),
        (["task=t_1", "from=helpdesk.get_ticket"], "from is for graph=FOLDER"),
        (["task=t_1", "out=x.html"], "out is for graph=FOLDER"),
        (["graph='{made}'", "task=t_1"], "exactly one of"),
    ],
)
def test_a_mistake_is_one_line(
    words: list[str], says: str, made: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()

    status = main(["show", *(word.format(made=made) for word in words)])

    out, err = capsys.readouterr()
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert says in err
