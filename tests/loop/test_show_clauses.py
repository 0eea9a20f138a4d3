"""What a task's page says of its clauses."""

from __future__ import annotations

import pytest

from loop.show.task import show_task_of_set
from tests.task.builders import system_with


def shown(kind: str, capsys: pytest.CaptureFixture[str]) -> str:
    system = system_with(kind)
    (name,) = system.tasks
    show_task_of_set(system, name, "a set").show()
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("kind", "lines"),
    [
        ("restraint", ("restraint:", "must not be called", "forbidden")),
        ("condition", ("condition:", "looks at", "whether it is", "so gold does")),
        ("every", ("every:", "one write each", "every_but_one")),
        ("count", ("the number of", "wrong_count")),
        ("date", (", from the clock", "wrong_day")),
        ("implicit", ("explicitly it would be:", " looks up ")),
    ],
)
def test_a_page_shows_words_and_checkable_form(
    kind: str, lines: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    page = " ".join(shown(kind, capsys).split())

    for line in lines:
        assert line in page
