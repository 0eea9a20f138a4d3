"""conf/ and the models agree: every choice validates, kinds are file names, nothing is left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from components.errors import ConfigError
from loop.config import RunConfig, Sizes, sizes_of
from loop.config_keys import keys_of
from loop.hydra_entry import CONF, default_values, run_verb
from loop.verb_configs import MODELS
from loop.verbs import VERBS, find_verb
from tests.loop.configs import run_config

TOP_LEVEL = [
    "run", "runs_dir", "round", "seed", "scale", "out", "dry_run", "environment", "task", "grow",
    "harness", "evaluator", "policy", "rollout", "attribution", "faults", "train", "compute",
    "tracking",
]  # fmt: skip


def test_top_level_keys_are_these() -> None:
    assert list(RunConfig.model_fields) == TOP_LEVEL


def test_defaults_are_the_documented_ones() -> None:
    config = run_config()

    assert config.run == "default"
    assert config.round is None
    assert (config.task.k, config.task.walk_length, config.task.distractors) == (2, 3, 0)
    assert config.policy.kind == "scripted"
    assert config.faults.kind == "demo"
    assert config.tracking.kind == "wandb"


@pytest.mark.parametrize(
    "overrides",
    [
        ["policy=openai", "policy.model=m"],
        ["tracking=none"],
        [
            "environment/author=model",
            "environment.author.base_url=http://h/v1",
            "environment.author.model=m",
        ],
        ["faults=none"],
    ],
)
def test_every_choice_of_every_group_validates(overrides: list[str]) -> None:
    run_config(*overrides)


def test_choices_are_the_files_of_their_folder() -> None:
    choices: dict[str, set[str]] = {}
    for verb in VERBS:
        for key in keys_of(MODELS[verb.config]):
            if key.choices:
                choices.setdefault(key.folder, set()).update(key.choices)
    for folder, found in choices.items():
        assert found == {path.stem for path in (CONF / folder).glob("*.yaml")}, folder


def test_every_key_has_a_default_in_conf_and_a_meaning() -> None:
    for verb in VERBS:
        model = MODELS[verb.config]
        defaults = default_values(verb, model)
        for key in keys_of(model):
            assert key.meaning, key.name
            assert key.is_section or key.name in defaults, key.name


@pytest.mark.parametrize("override", ["round=1", "+round=1", "++round=1"])
def test_round_can_be_given_with_and_without_plus(override: str) -> None:
    assert run_config(override).round == 1


def test_a_run_may_be_named_by_a_number() -> None:
    assert run_config("run=7").run == "7"


def test_scale_sets_the_sizes_that_are_left_null() -> None:
    assert sizes_of(run_config("scale=smoke")) == Sizes(num_tasks=3, group_size=2)
    assert sizes_of(run_config()) == Sizes(num_tasks=16, group_size=4)
    assert sizes_of(run_config("scale=full")) == Sizes(num_tasks=200, group_size=8)
    assert sizes_of(run_config("task.count=5", "rollout.group_size=1")) == Sizes(
        num_tasks=5, group_size=1
    )


def test_services_from_outside_lift_the_bound_on_k() -> None:
    config = run_config("environment.mcp_config=servers.json", "task.k=5", "task.walk_length=9")

    assert config.task.k == 5


def test_no_key_of_an_endpoint_enters_the_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "not-to-be-kept")

    config = run_config("policy=openai", "policy.model=m")

    assert "not-to-be-kept" not in config.model_dump_json()


def test_a_command_error_keeps_its_own_words() -> None:
    def command(_config: RunConfig) -> None:
        raise ConfigError("environment.mcp_config names no file")

    verb = find_verb("evolve")
    assert verb is not None
    with pytest.raises(ConfigError, match="names no file"):
        run_verb(verb, [], command)


def test_our_own_mistake_keeps_its_traceback() -> None:
    def command(_config: RunConfig) -> None:
        raise ZeroDivisionError("ours")

    verb = find_verb("evolve")
    assert verb is not None
    with pytest.raises(ZeroDivisionError, match="ours"):
        run_verb(verb, [], command)


def test_conf_is_found_beside_the_package() -> None:
    root = Path(__file__).resolve().parents[2]

    assert root / "conf" == CONF
