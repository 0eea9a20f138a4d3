"""What a word means in a service, and values that stand alone: tools of invented servers."""

from __future__ import annotations

import re

from components.environment.compiler.compile import compile_spec
from components.environment.reading.read import read_spec
from tests.environment.reading.builders import spec, tool

WALLET = re.compile(r"0x[0-9a-f]{40}|[1-9A-HJ-NP-Za-km-z]{32,44}")
SLOT = tool("get_slot", "Get the current slot of the blockchain.")
HEIGHT = tool("get_block_height", "Get the current block height of the solana mainnet.")
BLOCKS = tool("list_blocks", "List the blocks of the chain.", "limit")
HOLDERS = tool("list_holders", "List holders of a token by their wallet.", "address")
HOUSES = tool("list_houses", "List the houses of a street.", "address")


def test_a_value_answers_itself_and_nothing_about_it() -> None:
    made = spec(SLOT, HEIGHT, BLOCKS)
    blueprint, seed, _ = compile_spec(made, read_spec(made))

    (row,) = seed.tables["slot"].values()
    shown = set(row) - {"row_key"}
    assert shown == {"slot"}
    assert isinstance(row["slot"], int)
    assert blueprint.entities["block_height"].fields["block_height"].nullable is False


def test_a_value_that_a_tool_is_named_after_is_not_the_record_that_has_it() -> None:
    found = {name: item.entity for name, item in read_spec(spec(SLOT, HEIGHT, BLOCKS)).items()}

    assert found["get_block_height"] == "block_height"
    assert found["list_blocks"] == "block"


def test_the_address_of_a_wallet_is_none_of_a_street() -> None:
    chain = spec(SLOT, HEIGHT, HOLDERS)
    town = spec(HOUSES)
    _, of_chain, _ = compile_spec(chain, read_spec(chain))
    _, of_town, _ = compile_spec(town, read_spec(town))

    assert all(WALLET.fullmatch(row["address"]) for row in of_chain.tables["holder"].values())
    houses = [str(row["address"]) for row in of_town.tables["house"].values()]
    assert not any(WALLET.fullmatch(house) for house in houses)
