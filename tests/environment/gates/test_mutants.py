"""Planted defects are caught before admission, kind by kind."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest

from components.environment.compiler.compile import compile_spec
from tests.environment.gates.handmade import SERVERS, compiled
from tests.environment.gates.mutants import builtin, measure, total
from tests.environment.gates.sabotage import spec_subjects

SPECS = Path("../shared/data/mcp_specs.jsonl.gz")


def test_defects_in_compiled_services_are_caught() -> None:
    counts = measure([compiled(name) for name in sorted(SERVERS)], every=2)

    caught, live = total(counts)
    assert len([kind for kind, count in counts.items() if count.num_live]) >= 15
    assert live >= 60
    missed = [text for count in counts.values() for text in count.missed]
    assert caught >= 0.95 * live, missed


def test_defects_in_two_built_in_services_are_caught() -> None:
    services = [item for item in builtin() if item[0].service in ("helpdesk", "directory")]

    caught, live = total(measure(services, every=17))

    assert live >= 8
    assert caught >= 0.95 * live


@pytest.mark.slow
def test_defects_in_all_built_in_services_are_caught() -> None:
    caught, live = total(measure(builtin()))

    assert caught >= 0.95 * live


@pytest.mark.slow
@pytest.mark.skipif(not SPECS.exists(), reason="the shared specs are not here")
def test_defects_in_many_compiled_services_are_caught() -> None:
    services = [
        (subject.spec, *compile_spec(subject.spec, subject.readings)[:2])
        for subject in islice(spec_subjects(SPECS), 0, None, 6)
    ]

    caught, live = total(measure(services, every=5))

    assert live > 100
    assert caught >= 0.95 * live
