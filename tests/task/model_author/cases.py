"""Right authors of other kinds of task: texts, searches, numbers over lists, another start."""

from __future__ import annotations

import re

from tests.task.model_author.scripted import (
    Parts,
    call,
    datas,
    good_design,
    good_move,
    good_step,
    look,
    request_of,
    seen_in,
)


def looks_round(prompt: str) -> Parts:
    """Solve it after two reads that give nothing, and one call that is refused."""
    if not seen_in(prompt):
        return {
            "calls": [
                call("directory", "list_teams"),
                call("helpdesk", "get_ticket", ticket_id="tkt_000000"),
                *good_move(prompt)["calls"],
            ]
        }
    kept = [item for item in datas(prompt) if "teams" not in item]
    return good_step(prompt, kept)


def comment_design(prompt: str) -> Parts:
    """A comment in one's own words, in the name of whoever has the ticket by then."""
    design = good_design(prompt)
    words = (
        "comment on the ticket in the name of whoever it is assigned to after that, and give that "
        "person's pager code there"
    )
    leave = design["effects"][0]
    who = datas(prompt)[-1]["employee"]
    said = {"ticket_id": datas(prompt)[0]["ticket"]["id"], "author_id": who["id"]}
    comment = {"words": words, "service": "helpdesk", "tool": "add_comment", "arguments": said,
               "holds": [who["pager_code"]]}  # fmt: skip
    return {
        **design,
        "instruction": f"{leave['words']}, then {words}.",
        "effects": [leave, comment],
        "answer": {},
    }


def comments(prompt: str) -> Parts:
    """Solve it with a comment."""
    seen = datas(prompt)
    if len(seen) < 4:
        return good_move(prompt)
    if len(seen) == 4:
        who = seen[3]["employee"]
        text = f"Please call {who['pager_code']} from now on."
        said = call(
            "helpdesk", "add_comment", ticket_id=seen[0]["ticket"]["id"], author_id=who["id"],
            body=text,
        )  # fmt: skip
        return {"calls": [said]}
    return {"finish": {}}


def searching_design(prompt: str) -> Parts:
    """A request that names a ticket by its subject."""
    subject = datas(prompt)[0]["ticket"]["subject"]
    design = good_design(prompt)
    number = re.findall(r"ticket HD-\d+", design["instruction"])[0]
    named = f"the ticket {subject!r}"
    for item in (*design["effects"], *design["answer"].values()):
        item["words"] = item["words"].replace(number, named)
    return {**design, "instruction": design["instruction"].replace(number, named)}


def searches(prompt: str) -> Parts:
    """Solve it by a search, and a read in the same service."""
    seen = datas(prompt)
    if not seen:
        text = re.findall(r"the ticket '(.+?)'", request_of(prompt))[0]
        return {"calls": [call("helpdesk", "search_tickets", text=text)]}
    if len(seen) == 1:
        found = seen[0]["tickets"][0]["id"]
        return {"calls": [call("helpdesk", "get_ticket", ticket_id=found)]}
    return good_step(prompt, seen[1:])


def looks_at_duties(prompt: str) -> Parts:
    """Explore the duties of who has the ticket then."""
    seen = datas(prompt)
    if len(seen) == 4 and "employee" in seen[3]:
        now = seen[3]["employee"]["id"]
        return {"calls": [call("directory", "list_duties", employee_id=now)]}
    return look(prompt)


def counting_design(prompt: str) -> Parts:
    """A request that ends with a number over a list."""
    design = good_design(prompt, datas(prompt)[3])
    old = design["answer"]["name"]["words"]
    words = "tell me how many duties the person has whom it is assigned to after that"
    duties = {"words": words, "description": "How many.", "rule": {"operation": "count"},
              "value": len(datas(prompt)[-1]["duties"])}  # fmt: skip
    return {
        **design,
        "instruction": design["instruction"].replace(old, words),
        "answer": {"duties": duties},
    }


def counts(prompt: str) -> Parts:
    """Solve it by counting."""
    seen = datas(prompt)
    if len(seen) == 3:
        now = seen[2]["ticket"]["assignee_id"]
        return {"calls": [call("directory", "list_duties", employee_id=now)]}
    if len(seen) == 4:
        return {"finish": {"duties": len(seen[3]["duties"])}}
    return good_move(prompt)


def changed_start(prompt: str) -> Parts:
    """The ticket has another subject at the start."""
    step = {
        "op": "replace",
        "path": "/helpdesk/ticket/tkt_50e748/subject",
        "value": "Old door logs",
    }
    return {**good_design(prompt), "state": [step]}


def solves_changed(prompt: str) -> Parts:
    """Solve it, in the world as the design begins it."""
    seen = datas(prompt)
    assert not seen or seen[0]["ticket"]["subject"] == "Old door logs"
    return good_move(prompt)


def picking_design(prompt: str) -> Parts:
    """A request that also wants to know of one row of a list, which it says by a superlative."""
    design = good_design(prompt, datas(prompt)[3])
    words = "the subject of the latest ticket that is in_progress"
    latest = max(datas(prompt)[-1]["tickets"], key=lambda row: str(row["created_at"]))
    subject = {"words": words, "description": "The subject.", "value": latest["subject"]}
    return {
        **design,
        "instruction": f"{design['instruction'][:-1]}, and {words}.",
        "answer": {**design["answer"], "subject": subject},
        "picks": [
            {"words": "the latest ticket that is in_progress", "by": "created_at", "most": True}
        ],
    }


def looks_at_tickets(prompt: str) -> Parts:
    """Explore the tickets that are in progress, too."""
    if len(datas(prompt)) == 4:
        return {"calls": [_in_progress()]}
    return look(prompt)


def picks(prompt: str) -> Parts:
    """Solve it with the row that is meant."""
    seen = datas(prompt)
    if len(seen) == 4:
        return {"calls": [_in_progress()]}
    if len(seen) == 5:
        latest = max(seen[4]["tickets"], key=lambda row: str(row["created_at"]))
        return {"finish": {"name": seen[3]["employee"]["name"], "subject": latest["subject"]}}
    return good_move(prompt)


def _in_progress() -> Parts:
    return call("helpdesk", "search_tickets", status="in_progress", limit=25)
