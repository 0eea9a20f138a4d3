"""Faults of how answers are shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from attribution.change import Change
from attribution.faults.harness_places import answer_lengths, kind, quantiles, rewritten
from attribution.faults.kinds import Clean
from components.task.provenance import observations_of


def _shown(clean: Clean, texts: Sequence[str], why: str) -> Iterator[Change]:
    """Yield the changes for all answers, then for those of one service, the most called first."""
    yield from rewritten(clean, "observation", "{{ body }}", texts, why)
    uses = Counter(call.service for _, _, call in clean.calls())
    for service, _count in uses.most_common():
        parts = (f'{{% if name.startswith("{service}__") %}}', "{% else %}{{ body }}{% endif %}")
        narrow = [f"{parts[0]}{text}{parts[1]}" for text in texts[:1]]
        reason = f"{why}, where they come from {service}"
        yield from rewritten(clean, "observation", "{{ body }}", narrow, reason)


def _answers_cut(clean: Clean) -> Iterator[Change]:
    lengths = quantiles(answer_lengths(clean))
    texts = [f"{{{{ body[:{int(most * 0.95)}] }}}}" for most in lengths]
    yield from _shown(clean, texts, "the end of long answers is not shown")


def _middle_left_out(clean: Clean) -> Iterator[Change]:
    lengths = [int(most * 0.45) for most in quantiles(answer_lengths(clean))]
    texts = [
        f'{{{{ body if body|length <= {2 * half} else body[:{half}] ~ "..." ~ body[-{half}:] }}}}'
        for half in lengths
    ]
    yield from _shown(clean, texts, "the middle of long answers is not shown")


def _answers_escaped(clean: Clean) -> Iterator[Change]:
    yield from _shown(clean, ["{{ body|e }}", "{{ body|urlencode }}"], "answers are escaped")


def _answers_lowered(clean: Clean) -> Iterator[Change]:
    texts = ["{{ body|lower }}"]
    yield from _shown(clean, texts, "answers are shown in small letters")


def _encoded_twice(clean: Clean) -> Iterator[Change]:
    texts = ["{{ body|tojson }}", "{{ {'content': body}|tojson }}"]
    yield from _shown(clean, texts, "answers are encoded twice")


def _python_form(clean: Clean) -> Iterator[Change]:
    quotes = "replace('\"', \"'\")"
    words = "replace(':true', ': True')|replace(':false', ': False')|replace(':null', ': None')"
    texts = [f"{{{{ body|{words}|{quotes} }}}}", f"{{{{ body|{quotes} }}}}"]
    yield from _shown(clean, texts, "answers are shown in Python's own form")


def _times_shortened(clean: Clean) -> Iterator[Change]:
    ends = ("Z", ":00Z", ":00:00Z")
    texts = [f"{{{{ body|replace('{end}\"', '\"') }}}}" for end in ends]
    yield from _shown(clean, texts, "times are shown without their end")


def _underscores_eaten(clean: Clean) -> Iterator[Change]:
    texts = ["{{ body|replace('_', '') }}", "{{ body|replace('_', ' ') }}"]
    yield from _shown(clean, texts, "underscores are taken for emphasis")


def _dashes_set_in_type(clean: Clean) -> Iterator[Change]:
    texts = ["{{ body|replace('-', '\u2013') }}", "{{ body|replace('-', '\u2011') }}"]
    yield from _shown(clean, texts, "dashes of codes are shown as another sign")


def _silent_tool(clean: Clean) -> Iterator[Change]:
    names = dict.fromkeys(f"{call.service}__{call.tool}" for _, _, call in clean.calls())
    texts = [f'{{{{ "" if name == "{name}" else body }}}}' for name in names]
    yield from rewritten(
        clean, "observation", "{{ body }}", texts, "the answers of one tool are not shown"
    )


def _later_answers_dropped(clean: Clean) -> Iterator[Change]:
    texts = [f'{{{{ body if call_id < "t{turn:02d}" else "" }}}}' for turn in (3, 2, 1, 4)]
    yield from _shown(clean, texts, "answers after the first turns are not shown")


def _repeated_tool_dropped(clean: Clean) -> Iterator[Change]:
    texts = [
        f'{{{{ "(as before)" if "__get_" in name and call_id >= "t{turn:02d}" else body }}}}'
        for turn in (2, 1, 3)
    ]
    yield from _shown(clean, texts, "what is read again later is shown as unchanged")


def _refusals_as_success(clean: Clean) -> Iterator[Change]:
    answers = ('{"ok":true,"data":{}}', '{"ok":true,"data":null}')
    texts = [f"{{{{ '{answer}' if '\"ok\":false' in body else body }}}}" for answer in answers]
    yield from _shown(clean, texts, "refusals are shown as success")


def _refusals_break(clean: Clean) -> Iterator[Change]:
    texts = [
        "{{ body.error.message.strip() if '\"ok\":false' in body else body }}",
        "{{ error.strip() if '\"ok\":false' in body else body }}",
    ]
    yield from _shown(clean, texts, "a refusal cannot be shown")


def _success_as_refusal(clean: Clean) -> Iterator[Change]:
    verbs = dict.fromkeys(
        call.tool.partition("_")[0] for _, _, call in clean.calls() if call.changes
    )
    refused = '{"ok":false,"error":{"code":"internal","details":{},"message":"time out"}}'
    texts = [f"{{{{ '{refused}' if \"__{verb}_\" in name else body }}}}" for verb in verbs]
    yield from rewritten(
        clean, "observation", "{{ body }}", texts, "writes that were done are shown as failed"
    )


def _only_text_of_success(clean: Clean) -> Iterator[Change]:
    texts = [
        "{{ '{\"ok\":true}' if '\"ok\":true' in body else body }}",
        "{{ 'Done.' if '\"ok\":true' in body else body }}",
    ]
    yield from _shown(clean, texts, "of a success only that it was one is shown")


def _secrets_masked(clean: Clean) -> Iterator[Change]:
    fields: dict[str, None] = {}
    for task in clean.tasks():
        sources = [s for step in task.gold.values() for s in step.arguments.values()]
        for place in (p for s in (*sources, *task.answer.values()) for p in observations_of(s)):
            fields.setdefault(str(place.path[-1]))
    wanted = [name for name in fields if name.endswith(("code", "key", "pin", "email", "address"))]
    texts = [f'{{{{ body.split(\'"{name}":"\')|join(\'"{name}":"***\') }}}}' for name in wanted]
    yield from _shown(clean, texts, "values that look secret are masked")


KINDS = (
    kind("answers_cut", "The end of a long answer is not shown, without a word.", _answers_cut),
    kind("middle_left_out", "The middle of a long answer is not shown.", _middle_left_out),
    kind(
        "answers_escaped",
        "Answers are shown with signs escaped as for a web page.",
        _answers_escaped,
    ),
    kind(
        "answers_lowered",
        "Answers are shown in small letters, so that codes lose their case.",
        _answers_lowered,
    ),
    kind("encoded_twice", "An answer is shown as JSON inside of JSON.", _encoded_twice),
    kind("python_form", "Answers are shown in Python's form instead of as JSON.", _python_form),
    kind("times_shortened", "Times are shown without their end.", _times_shortened),
    kind(
        "underscores_eaten",
        "Underscores are not shown, as if they were marks of emphasis.",
        _underscores_eaten,
    ),
    kind(
        "dashes_set_in_type",
        "The dashes of codes are shown as the longer ones of printed text.",
        _dashes_set_in_type,
    ),
    kind("silent_tool", "The answers of one tool are not shown.", _silent_tool),
    kind(
        "later_answers_dropped",
        "Answers are shown in the first turns alone.",
        _later_answers_dropped,
    ),
    kind(
        "second_reading_dropped",
        "What is read later in the episode is shown as unchanged.",
        _repeated_tool_dropped,
    ),
    kind("refusals_as_success", "A refusal is shown as success.", _refusals_as_success),
    kind("refusals_break", "A refusal cannot be rendered.", _refusals_break),
    kind("success_as_refusal", "A write that was done is shown as failed.", _success_as_refusal),
    kind(
        "only_that_it_worked",
        "Of a success only that it was one is shown.",
        _only_text_of_success,
    ),
    kind("secrets_masked", "Values of fields that sound secret are masked.", _secrets_masked),
)
