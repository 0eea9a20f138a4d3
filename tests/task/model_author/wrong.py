"""Authors that are wrong in one way, and what a draft of theirs must be refused for."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from components.task.model_author.records import Stage
from components.task.reasons import Reason
from tests.model.served import Play
from tests.task.model_author.scripted import (
    Author,
    Parts,
    call,
    datas,
    good_design,
    good_move,
    good_step,
    request_of,
)


@dataclass(frozen=True, kw_only=True)
class Wrong:
    """A wrong author."""

    author: Author
    stage: Stage
    reason: Reason
    says: str = ""
    """What the detail says."""
    config: Parts = field(default_factory=dict)
    over_http: bool = False
    """True where it is the endpoint that is wrong."""


_NAMES = {"emp_21a59e": "Yusuf Demir"}
"""What the first draft's assignee is called, whom its author has not looked at."""


def _told(prompt: str, **changes: Any) -> Parts:
    return {**good_design(prompt), **changes}


def _said(prompt: str, old: str, new: str, **changes: Any) -> Parts:
    """The right design with other words in the request and in its spans."""
    design = _told(prompt, **changes)
    design["instruction"] = design["instruction"].replace(old, new)
    for item in (*design["effects"], *design["answer"].values()):
        item["words"] = item["words"].replace(old, new)
    return design


def _late(prompt: str) -> Parts:
    """Leave until another day than the one asked for."""
    move = good_move(prompt)
    for item in move.get("calls", ()):
        if item["tool"] == "set_leave":
            item["arguments"]["until"] = "2026-03-30T08:00:00Z"
    return move


def _guesses(prompt: str) -> Parts:
    """Leave for an employee whom nothing has shown."""
    move = good_move(prompt)
    for item in move.get("calls", ()):
        if item["tool"] == "set_leave":
            item["arguments"]["employee_id"] = "emp_9083fc"
    return move


def _for_the_deputy(prompt: str) -> Parts:
    """Leave for the deputy of whom it is asked for."""
    seen = datas(prompt)
    if len(seen) == 1:
        who = seen[0]["ticket"]["assignee_id"]
        return {"calls": [call("directory", "get_employee", employee_id=who)]}
    if len(seen) == 2:
        until = re.findall(r"\d{4}-\S+Z", request_of(prompt))[0]
        deputy = seen[1]["employee"]["deputy_id"]
        return {"calls": [call("directory", "set_leave", employee_id=deputy, until=until)]}
    return good_move(prompt) if not seen else {"finish": {"name": seen[1]["employee"]["name"]}}


def _open_effect(prompt: str) -> Parts:
    design = good_design(prompt)
    del design["effects"][0]["arguments"]["employee_id"]
    return design


def _some_day(prompt: str) -> Parts:
    """Leave until a day that nobody has said."""
    ticket = datas(prompt)[:1]
    if len(datas(prompt)) != 1:
        return good_move(prompt)
    leave = call(
        "directory", "set_leave", employee_id=ticket[0]["ticket"]["assignee_id"],
        until="2026-03-30T08:00:00Z",
    )  # fmt: skip
    again = call("helpdesk", "get_ticket", ticket_id=ticket[0]["ticket"]["id"])
    return {"calls": [leave, again]}


def _undated(prompt: str) -> Parts:
    """A request that does not say until when."""
    until = re.findall(r" until \S+Z", good_design(prompt)["instruction"])[0]
    design = _said(prompt, until, "")
    design["effects"][0]["arguments"]["until"] = "2026-03-30T08:00:00Z"
    return design


def _lowering(prompt: str) -> Parts:
    """A request for what no tool does."""
    leave = good_design(prompt)["effects"][0]["words"]
    words = "lower the priority of the ticket to normal"
    design = _said(prompt, leave, words)
    ticket = datas(prompt)[0]["ticket"]["id"]
    effect = {"words": words, "service": "helpdesk", "tool": "set_priority",
              "arguments": {"priority": "normal", "ticket_id": ticket}}  # fmt: skip
    return {**design, "effects": [effect]}


def _tries_and_gives_up(prompt: str) -> Parts:
    return {"give_up": "a priority is never lowered"}


def _takes_one(prompt: str) -> Parts:
    """Solve it with one of several tickets."""
    seen = datas(prompt)
    if not seen:
        return {"calls": [call("helpdesk", "search_tickets", status="in_progress", limit=25)]}
    if len(seen) == 1:
        found = {item["id"] for item in seen[0]["tickets"]} & {_TICKET.rpartition("/")[2]}
        return {"calls": [call("helpdesk", "get_ticket", ticket_id=found.pop())]}
    return good_step(prompt, seen[1:])


def _in_progress(prompt: str) -> Parts:
    number = re.findall(r"HD-\d+", good_design(prompt)["instruction"])[0]
    return _said(prompt, f"ticket {number}", "the ticket that is in_progress")


def _same_deputy(prompt: str) -> Parts:
    """A design whose second write has nothing to do."""
    words = "make sure that this person's deputy stays who it is"
    design = good_design(prompt)
    who = datas(prompt)[-1]["employee"]
    said = {"employee_id": who["id"], "deputy_id": who["deputy_id"]}
    kept = {"words": words, "service": "directory", "tool": "set_deputy", "arguments": said}
    return {
        **design,
        "instruction": f"{design['instruction']} And {words}.",
        "effects": [*design["effects"], kept],
    }


def _keeps_the_deputy(prompt: str) -> Parts:
    seen = datas(prompt)
    if len(seen) < 4:
        return good_move(prompt)
    if len(seen) == 4:
        who = seen[3]["employee"]
        kept = call("directory", "set_deputy", employee_id=who["id"], deputy_id=who["deputy_id"])
        return {"calls": [kept]}
    return {"finish": {"name": seen[3]["employee"]["name"]}}


def _deaf(prompt: str) -> Parts:
    """Look at the same ticket for ever."""
    number = re.findall(r"HD-\d+", request_of(prompt))[0]
    return {"calls": [call("helpdesk", "get_ticket_by_number", number=number)]}


def _does_more(prompt: str) -> Parts:
    move = good_move(prompt)
    if len(datas(prompt)) == 3:
        ticket = datas(prompt)[2]["ticket"]["id"]
        move["calls"].append(
            call("helpdesk", "set_priority", ticket_id=ticket, priority="urgent")
        )  # fmt: skip
    if len(datas(prompt)) == 5:
        return {"finish": {"name": datas(prompt)[3]["employee"]["name"]}}
    return move


def _who_it_was(prompt: str) -> Parts:
    """Finish with the name of the first assignee: no second reading is needed."""
    seen = datas(prompt)
    if len(seen) == 3:
        was = seen[0]["ticket"]["assignee_id"]
        return {"calls": [call("directory", "get_employee", employee_id=was)]}
    return good_move(prompt)


def _asks_who_it_was(prompt: str) -> Parts:
    design = good_design(prompt)
    design["answer"]["name"]["value"] = _NAMES[datas(prompt)[0]["ticket"]["assignee_id"]]
    return design


def _of_a_guess(prompt: str) -> Parts:
    design = good_design(prompt)
    design["effects"][0]["arguments"]["employee_id"] = "emp_9083fc"
    design["answer"]["name"]["value"] = _NAMES[datas(prompt)[0]["ticket"]["assignee_id"]]
    return design


def _gives_it_away(prompt: str) -> Parts:
    design = good_design(prompt)
    name = datas(prompt)[-1]["employee"]["name"]
    return {**design, "instruction": f"{design['instruction']} I think it is {name}."}


def _names_an_id(prompt: str) -> Parts:
    ticket = next(item for item in datas(prompt) if "ticket" in item)["ticket"]["id"]
    design = good_design(prompt)
    return {**design, "instruction": f"{design['instruction']} (That is {ticket}.)"}


def _patch(*operations: Parts) -> Any:
    return lambda prompt: _told(prompt, state=list(operations))


def play(text: str, **changes: Any) -> Any:
    """What always answers this."""
    return lambda _prompt: Play(text, **changes)


NO = play("I cannot help with that.")
SILENT = play("", status=500, body=b"{}")
S, R = Stage, Reason
_TICKET = "/helpdesk/ticket/tkt_50e748"
"""The ticket that the first draft is about."""
WRONG = {
    "wrong_gold": Wrong(
        author=Author(probe=_late), stage=S.SUBMIT, reason=R.EFFECTS, says="until was to be"
    ),
    "another_record": Wrong(
        author=Author(probe=_for_the_deputy), stage=S.SUBMIT, reason=R.EFFECTS,
        says="employee_id was to be",
    ),
    "an_effect_that_says_too_little": Wrong(
        author=Author(design=_open_effect), stage=S.SUBMIT, reason=R.EFFECTS,
        says="does not say what employee_id must be",
    ),
    "another_answer": Wrong(
        author=Author(probe=_who_it_was), stage=S.SUBMIT, reason=R.EFFECTS,
        says="answer.name was to be",
    ),
    "guessed_record": Wrong(
        author=Author(design=_of_a_guess, probe=_guesses), stage=S.SUBMIT,
        reason=R.UNSTATED_VALUE, says="emp_9083fc",
    ),
    "unknowable_value": Wrong(
        author=Author(design=_undated, probe=_some_day), stage=S.SUBMIT, reason=R.UNSTATED_VALUE,
        says="'2026-03-30T08:00:00Z' stands neither in the request nor",
    ),
    "unreachable_goal": Wrong(
        author=Author(design=_lowering, probe=_tries_and_gives_up), stage=S.PROBE,
        reason=R.NO_SOLUTION, says="never lowered",
    ),
    "ambiguous_referent": Wrong(
        author=Author(design=_in_progress, probe=_takes_one), stage=S.SUBMIT,
        reason=R.AMBIGUOUS_REFERENT, says="which one is meant",
    ),
    "goal_true_at_the_start": Wrong(
        author=Author(design=_same_deputy, probe=_keeps_the_deputy), stage=S.SUBMIT,
        reason=R.GOAL_ALREADY_TRUE, says="changes nothing",
    ),
    "a_write_too_many": Wrong(
        author=Author(probe=_does_more), stage=S.SUBMIT, reason=R.EFFECTS, says="set_priority"
    ),
    "no_second_reading": Wrong(
        author=Author(design=_asks_who_it_was, probe=_who_it_was), stage=S.SUBMIT,
        reason=R.WRONG_LENGTH,
    ),
    "answer_given_away": Wrong(
        author=Author(design=_gives_it_away), stage=S.SUBMIT,
        reason=R.STALE_GOLD, says="the request shows",
    ),
    "internal_id": Wrong(
        author=Author(design=_names_an_id), stage=S.SUBMIT, reason=R.REVEALS_ID
    ),
    "words_of_another_request": Wrong(
        author=Author(design=lambda p: _told(p, instruction="Tidy up, please.")),
        stage=S.DESIGN, reason=R.DEMANDS,
    ),
    "promise_broken": Wrong(
        author=Author(
            design=_patch(
                {"op": "replace", "path": f"{_TICKET}/queue_id", "value": "que_none"}
            )
        ),
        stage=S.DESIGN, reason=R.STATE, says="promise",
    ),
    "patch_of_nothing": Wrong(
        author=Author(design=_patch({"op": "remove", "path": "/helpdesk/ticket/tkt_none"})),
        stage=S.DESIGN, reason=R.STATE, says="does not apply",
    ),
    "refuses_to_explore": Wrong(
        author=Author(explore=NO), stage=S.EXPLORE, reason=R.UNUSABLE_ANSWER, says="no JSON object"
    ),
    "refuses_to_design": Wrong(
        author=Author(design=NO), stage=S.DESIGN, reason=R.UNUSABLE_ANSWER, says="no JSON object"
    ),
    "refuses_to_solve": Wrong(
        author=Author(probe=NO), stage=S.PROBE, reason=R.UNUSABLE_ANSWER, says="no JSON object"
    ),
    "no_json": Wrong(
        author=Author(design=play("```json\n{'instruction': 1}\n```")), stage=S.DESIGN,
        reason=R.UNUSABLE_ANSWER, says="no JSON",
    ),
    "another_form": Wrong(
        author=Author(design=play('{"instruction": "Do it.", "effects": []}')), stage=S.DESIGN,
        reason=R.UNUSABLE_ANSWER, says="effects",
    ),
    "never_ends": Wrong(
        author=Author(design=play('```json\n{"instruction": "Do', finish="length")),
        stage=S.DESIGN, reason=R.UNUSABLE_ANSWER, says="cut off",
    ),
    "never_finishes": Wrong(
        author=Author(probe=_deaf), stage=S.PROBE, reason=R.NO_SOLUTION, says="probe_calls=8"
    ),
    "server_fails": Wrong(
        author=Author(probe=SILENT), stage=S.PROBE, reason=R.ENDPOINT, says="HTTP 500",
        config={"max_retries": 1}, over_http=True,
    ),
    "too_many_requests": Wrong(
        author=Author(explore=play("", status=429, body=b"{}")), stage=S.EXPLORE,
        reason=R.ENDPOINT, says="HTTP 429", config={"max_retries": 1}, over_http=True,
    ),
    "hangs": Wrong(
        author=Author(explore=play("", hang_seconds=5.0)), stage=S.EXPLORE, reason=R.ENDPOINT,
        says="no answer within", config={"timeout_seconds": 0.2}, over_http=True,
    ),
    "window": Wrong(
        author=Author(
            design=play("", status=400, body=b'{"error": {"message": "prompt is too long"}}')
        ),
        stage=S.DESIGN, reason=R.WINDOW, over_http=True,
    ),
}  # fmt: skip
