"""Names and sentences read as verb and object."""

from __future__ import annotations

import pytest

from components.environment.reading.words import read_name, read_sentence, tokens


@pytest.mark.parametrize(
    ("name", "verb", "head"),
    [
        ("list_open_issues", "list", "issue"),
        ("tag_list", "list", "tag"),
        ("getUserByEmail", "get", "user"),
        ("archive-project", "archive", "project"),
        ("weather", "", "weather"),
    ],
)
def test_the_verb_is_found_where_it_stands(name: str, verb: str, head: str) -> None:
    phrase = read_name(tokens(name))

    assert (phrase.verb, phrase.head) == (verb, head)


def test_what_stands_behind_a_container_is_the_object() -> None:
    phrase = read_sentence("Retrieves a list of all open invoices for a customer. Fast.")

    assert (phrase.verb, phrase.container, phrase.head) == ("retrieve", "list", "invoice")
    assert phrase.is_plural


def test_lead_ins_and_labels_are_passed_over() -> None:
    phrase = read_sentence("[Notes] Use this tool to delete a note")

    assert (phrase.family, phrase.head, phrase.is_single) == ("delete", "note", True)


def test_verbs_of_scripts_without_spaces_are_found() -> None:
    assert read_sentence("\u521b\u5efa\u4e00\u4e2a\u65b0\u4efb\u52a1").family == "create"
