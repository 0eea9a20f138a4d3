"""Rows of archetypes: consistent, distinct, spread, in order."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from typing import Any

import pytest

from components.environment.archetypes.cast import USUAL, cast_of
from components.environment.archetypes.definitions import nouns
from components.environment.archetypes.draw import draw_value
from components.environment.archetypes.find import archetype_of
from components.environment.archetypes.meanings import parse_meaning
from components.environment.archetypes.records import FieldShape
from components.environment.archetypes.rows import row_values
from components.environment.archetypes.table_shape import of_archetype
from components.environment.archetypes.times import parse_now
from components.environment.archetypes.word_lists import read_data
from components.environment.entities import entity_model
from components.environment.values import settle
from components.records.blueprint import EntityBlueprint, FieldBlueprint, FieldType
from components.records.frozen import FrozenDict

NOW = "2026-03-02T09:00:00Z"


def rows_of(noun: str, num_rows: int = 8, seed: str = "s", **more: Any) -> list[dict[str, Any]]:
    shape = of_archetype(archetype_of(noun), **more)
    return row_values(shape, num_rows, seed=f"{seed}:{noun}", cast=cast_of(), now=NOW)


@pytest.fixture(scope="module")
def every_table() -> dict[str, list[dict[str, Any]]]:
    return {noun: rows_of(noun) for noun in nouns()}


def test_no_two_rows_of_a_table_share_title_or_key(
    every_table: dict[str, list[dict[str, Any]]],
) -> None:
    for noun, rows in every_table.items():
        archetype = archetype_of(noun)
        for name in {archetype.title_field, archetype.key} - {None}:
            listed = parse_meaning(archetype.fields[str(name)].meaning).options
            if name == archetype.key or not listed:
                assert len({row[str(name)] for row in rows}) == len(rows), (noun, name)


def test_every_row_fits_the_entity_of_its_archetype(
    every_table: dict[str, list[dict[str, Any]]],
) -> None:
    for noun, rows in every_table.items():
        fields = {
            name: FieldBlueprint(type=item.type, nullable=item.nullable, enum=item.enum)
            for name, item in archetype_of(noun).fields.items()
        }
        model = entity_model("s", noun, EntityBlueprint(fields=FrozenDict(fields)))
        for row in rows:
            model.model_validate(settle(row))


def test_every_enum_and_flag_takes_two_values_and_a_status_its_whole_lifecycle(
    every_table: dict[str, list[dict[str, Any]]],
) -> None:
    for noun, rows in every_table.items():
        archetype = archetype_of(noun)
        for name, item in archetype.fields.items():
            if item.enum or item.type is FieldType.BOOLEAN:
                assert len({row[name] for row in rows} - {None}) >= 2, (noun, name)
        if archetype.status_field:
            assert {row[archetype.status_field] for row in rows} == set(archetype.lifecycle)


def test_times_are_in_order(every_table: dict[str, list[dict[str, Any]]]) -> None:
    pairs = [
        ("created_at", "updated_at"), ("start_time", "end_time"), ("started_at", "finished_at"),
        ("created_at", "closed_at"), ("period_start", "period_end"), ("start_date", "end_date"),
        ("check_in", "check_out"), ("created_at", "due_date"),
    ]  # fmt: skip
    seen = 0
    for noun, rows in every_table.items():
        for row in rows:
            for first, then in pairs:
                if row.get(first) and row.get(then):
                    seen += 1
                    assert row[first] <= row[then], (noun, first, then)
            for name in ("created_at", "updated_at", "sent_at", "published_at", "last_login_at"):
                assert row.get(name, "") <= NOW, (noun, name)
    assert seen > 500


def test_what_has_ended_has_an_end_and_nothing_else_has() -> None:
    rows = rows_of("task", 12)

    for row in rows:
        assert (row["completed_at"] is not None) == (row["status"] == "done")


def test_sums_are_right_and_lows_are_below_highs() -> None:
    for row in rows_of("order"):
        assert row["total"] == round(row["subtotal"] + row["shipping"], 2)
    for row in rows_of("order_item"):
        assert row["total"] == round(row["quantity"] * row["unit_price"], 2)
    for row in rows_of("candlestick"):
        assert row["low"] <= min(row["open"], row["close"])
        assert row["high"] >= max(row["open"], row["close"])


def test_a_series_steps_up_to_now_and_moves_slowly() -> None:
    rows = rows_of("price_history")

    assert [row["date"] for row in rows][-2:] == ["2026-03-01", "2026-03-02"]
    prices = [row["price"] for row in rows]
    assert max(prices) < 1.3 * min(prices)


def test_a_person_is_the_same_in_every_service() -> None:
    contacts = {row["name"]: row for row in rows_of("contact", USUAL, seed="crm")}
    users = {row["name"]: row for row in rows_of("user", USUAL, seed="chat")}

    assert set(contacts) == set(users)
    for name, contact in contacts.items():
        same = ("email", "phone", "username", "company", "city", "country")
        assert [contact[key] for key in same] == [users[name][key] for key in same]


def test_what_a_row_says_of_somebody_is_of_one_person() -> None:
    people = [cast_of().person(index) for index in range(USUAL)]
    by_name = {person.full_name: person for person in people}

    for row in rows_of("order", 12):
        assert by_name[row["customer_name"]].email == row["customer_email"]
    for row in rows_of("contact", 12):
        assert by_name[row["name"]].email == row["email"]
        assert row["email"].endswith(f"@{by_name[row['name']].company.domain}")


def test_two_roles_of_a_row_fall_to_two_people() -> None:
    for row in rows_of("call", 12):
        assert row["caller"] != row["callee"]


def test_what_a_row_says_of_a_place_is_of_one_place() -> None:
    for row in rows_of("airport", 12):
        found = [place for place in map(cast_of().place, range(USUAL)) if place.city == row["city"]]
        assert row["name"] == f"{row['city']} Airport"
        assert (row["code"], row["latitude"]) == (found[0].airport, found[0].latitude)


def test_a_file_s_path_is_its_folder_and_its_name() -> None:
    for row in rows_of("file", 40):
        assert row["path"] == f"{row['folder']}/{row['name']}"
        assert row["name"].endswith(f".{row['extension']}")


def test_aligned_words_belong_together() -> None:
    pairs = {(row["name"], row["symbol"]) for row in rows_of("coin", 10)}

    assert {("bitcoin", "BTC"), ("ethereum", "ETH")} <= pairs


def test_links_take_the_keys_that_they_are_given() -> None:
    link = {"project": FieldShape(type=FieldType.STRING, meaning="id.short")}
    rows = rows_of("issue", 8, fields=link, links={"project": ["prj_1", "prj_2"]})

    assert sorted(row["project"] for row in rows) == ["prj_1"] * 4 + ["prj_2"] * 4


def test_large_tables_stay_distinct() -> None:
    for noun in ("user", "company", "file", "issue"):
        titles = [row[str(archetype_of(noun).title_field)] for row in rows_of(noun, 150)]
        assert len(set(titles)) == 150


def test_a_table_of_listed_words_holds_each_once_and_none_with_a_number() -> None:
    coins = [row["name"] for row in rows_of("coin", 150)]

    assert len(set(coins)) == len(coins) < 150
    assert not any(coin[-1].isdigit() for coin in coins)


def test_titles_are_about_the_kind_of_record() -> None:
    titles = {row["title"] for row in rows_of("issue", 8)} | {
        row["name"] for row in rows_of("zorblat", 8)
    }

    assert not any("lorem" in title.lower() for title in titles)
    assert any("zorblat" in title for title in titles)


def test_the_same_seed_gives_the_same_rows_in_another_process() -> None:
    nouns_asked = ("issue", "contact", "order", "zorblat")
    code = (
        "import json\n"
        "from tests.environment.archetypes.test_rows import rows_of\n"
        f"print(json.dumps([rows_of(noun) for noun in {nouns_asked}]))\n"
    )

    other = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONHASHSEED": "7", "PYTHONPATH": "."},
    )

    assert json.loads(other.stdout) == [rows_of(noun) for noun in nouns_asked]
    assert rows_of("issue", seed="a") != rows_of("issue", seed="b")


def test_faker_is_not_imported_before_a_name_is_needed() -> None:
    code = (
        "import sys\n"
        "import components.environment.archetypes.rows, components.environment.archetypes.find\n"
        "assert 'faker' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": "."})


def test_every_meaning_draws_a_value_of_its_type() -> None:
    kinds: dict[FieldType, Any] = {
        FieldType.INTEGER: int, FieldType.NUMBER: (int, float), FieldType.BOOLEAN: bool,
        FieldType.ARRAY: list, FieldType.OBJECT: dict,
    }  # fmt: skip
    for meaning in read_data("meanings"):
        value = draw_value(meaning, random.Random(3), cast_of(), 2, parse_now(NOW))
        assert isinstance(value, kinds.get(parse_meaning(meaning).type, str)), meaning
