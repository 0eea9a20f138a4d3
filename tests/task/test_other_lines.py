"""Wrong lines end otherwise than gold and are failed; other right lines end alike and pass."""

from __future__ import annotations

from collections import Counter

from components.environment.world import build_world
from components.evaluator.rubric import is_pass, score_criteria
from components.evaluator.strict import strict_difference
from components.records.frozen import FrozenDict
from components.records.rubric import AnswerField, Rubric, Untouched
from components.task.alternatives import Alternatives
from components.task.compose import ComposedTask
from components.task.gold import Gold, run_gold
from components.task.lines import play_on
from components.task.other_mutants import OtherMutant, OtherMutants
from tests.task.builders import builtin_system, composed


def gold_of(item: ComposedTask) -> Gold:
    gold = run_gold(build_world(builtin_system(), item.task.world), item.task)
    assert isinstance(gold, Gold)
    return gold


def mutants_of(item: ComposedTask) -> list[OtherMutant]:
    world = build_world(builtin_system(), item.task.world)
    return list(OtherMutants(builtin_system(), world, item.task, gold_of(item)).all())


def passes(item: ComposedTask, line: OtherMutant, rubric: Rubric) -> bool | None:
    settings = builtin_system().evaluator.settings
    initial = gold_of(item).initial
    scores = score_criteria(rubric, settings, initial, line.final, line.answer)
    return is_pass(scores, rubric, settings)


def test_every_wrong_line_ends_otherwise_and_is_failed() -> None:
    found: Counter[str] = Counter()

    for item in (*composed(3, 7, 4), *composed(3, 6, 6)):
        gold = gold_of(item)
        world = build_world(builtin_system(), item.task.world)
        for line in mutants_of(item):
            found[line.kind] += 1
            is_other = strict_difference(world, gold.final, line.final)
            assert is_other or line.answer != gold.answer, line.did
            assert passes(item, line, item.rubric) is False, line.did

    assert {"forgotten", "dropped_last", "written_twice", "twin_row", "twin_row_too"} <= set(found)
    assert {"extra_write", "wrong_referent", "other_service"} <= set(found)
    assert {"sibling_field", "misspelt_answer", "wrong_order"} <= set(found)
    assert {"forbidden_call", "miscount"} <= set(found)
    assert sum(found.values()) >= 80


def test_a_rubric_that_looks_away_lets_mutants_live() -> None:
    """Extra writes live where nothing is kept untouched, wrong answers where none is compared."""
    item = next(one for one in composed(3, 7, 6) if one.task.answer)
    blind = {
        name: criterion
        for name, criterion in item.rubric.criteria.items()
        if not isinstance(criterion, (Untouched, AnswerField))
    }
    rubric = item.rubric.model_copy(update={"criteria": FrozenDict(blind)})

    lived = {line.kind for line in mutants_of(item) if passes(item, line, rubric)}

    assert {"extra_write", "misspelt_answer"} <= lived


def test_other_orders_and_reads_end_as_gold_does_and_pass() -> None:
    found: Counter[str] = Counter()

    for item in composed(3, 7, 6):
        gold = gold_of(item)
        world = build_world(builtin_system(), item.task.world)
        for line in Alternatives(builtin_system(), world, item.task, gold).all():
            found[line.kind] += 1
            assert not strict_difference(world, gold.final, line.final)
            settings = builtin_system().evaluator.settings
            scores = score_criteria(item.rubric, settings, gold.initial, line.final, line.answer)
            assert is_pass(scores, item.rubric, settings), line.did

    assert found["other_order"] >= 6
    assert found["other_read"] >= 1


def test_a_line_goes_on_after_a_call_that_cannot_be_made() -> None:
    item = composed(3, 7, 6)[0]
    gold = gold_of(item)
    world = build_world(builtin_system(), item.task.world)
    last, others = gold.names[-1], gold.names[:-1]

    whole = play_on(world, item.task, gold.names)
    early = play_on(world, item.task, (last, *others))

    assert set(whole.arguments) == set(gold.names)
    assert set(early.arguments) >= set(others)
    assert last not in early.arguments
