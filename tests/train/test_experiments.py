"""Claims about the experiments in `conf/`: each is the configuration of a verb, as it stands."""

from __future__ import annotations

import re
from typing import Any

import pytest

from loop.config import RunConfig, TrainConfig
from loop.hydra_entry import CONF, run_verb
from loop.verbs import find_verb

FILES = sorted((CONF / "experiment").glob("*.yaml"))


@pytest.mark.parametrize("name", [path.stem for path in FILES])
def test_every_experiment_validates_for_the_verb_that_it_names(name: str) -> None:
    text = (CONF / "experiment" / f"{name}.yaml").read_text()
    named = re.search(r"python -m loop (\w+) \+experiment=(\w+)", text)
    assert named is not None
    verb = find_verb(named[1])
    assert verb is not None

    seen: list[Any] = []
    run_verb(verb, [f"+experiment={name}"], seen.append)

    assert named[2] == name
    assert isinstance(seen[0], (RunConfig, TrainConfig))
    assert seen[0].run == name
    assert seen[0].train.kind == ("none" if name == "faulty" else "sft")
