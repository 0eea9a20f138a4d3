"""OpenAPI documents: each operation one tool, as a hand-written document says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from components.environment.sources.listed import ListedServer, make_specs
from components.environment.sources.openapi import read_openapi
from components.errors import SpecError
from components.records.frozen import thaw

SHOP = """
openapi: 3.0.3
info: {title: Pet Shop, description: Sells pets., license: {name: Apache-2.0}}
paths:
  /pets/{id}:
    parameters:
      - {name: id, in: path, required: true, schema: {type: string}, description: Which pet.}
    get:
      operationId: getPet
      summary: Get a pet
      parameters:
        - {$ref: '#/components/parameters/Limit'}
        - {name: Authorization, in: header, schema: {type: string}}
      responses:
        200:
          description: ok
          content: {application/json: {schema: {$ref: '#/components/schemas/Pet'}}}
    put:
      deprecated: true
      requestBody:
        required: true
        content: {application/json: {schema: {$ref: '#/components/schemas/Pet'}}}
      responses:
        '200':
          description: ok
          content: {application/json: {schema: {type: array, items: {type: integer}}}}
  /pets:
    post:
      operationId: getPet
      requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/Pet'}}}}
    delete:
      operationId: drop all
components:
  securitySchemes:
    key: {type: apiKey, in: header, name: X-Key}
    login: {type: http, scheme: bearer}
  parameters:
    Limit: {name: limit, in: query, schema: {type: integer, minimum: 0, exclusiveMinimum: true}}
  schemas:
    Pet:
      type: object
      required: [id, name, secret]
      additionalProperties: false
      properties:
        id: {type: string, readOnly: true}
        name: {type: string, example: 2020-01-01}
        secret: {type: string, writeOnly: true}
        tag: {type: string, nullable: true}
        parent: {$ref: '#/components/schemas/Pet'}
"""


def read(tmp_path: Path, text: str, name: str = "shop.yaml") -> ListedServer:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    (listed,) = make_specs([read_openapi(path)], "2026-01-31")
    return listed


def document(**paths: Any) -> str:
    return json.dumps({"openapi": "3.1.0", "paths": paths})


def test_each_operation_becomes_a_tool_with_one_schema_of_arguments(tmp_path: Path) -> None:
    listed = read(tmp_path, SHOP)

    assert listed.spec is not None
    tools = {name: thaw(tool.input_schema) for name, tool in listed.spec.tools.items()}
    assert set(tools) == {"getPet", "put_pets_id", "post_pets", "drop_all"}
    assert tools["getPet"] == {
        "type": "object",
        "properties": {
            "id": {"type": "string", "description": "Which pet."},
            "limit": {"type": "integer", "exclusiveMinimum": 0},
        },
        "required": ["id"],
    }
    put = tools["put_pets_id"]
    assert put["required"] == ["id", "name", "secret"]
    assert set(put["properties"]) == {"id", "name", "secret", "tag", "parent"}
    assert put["additionalProperties"] is False
    assert put["properties"]["name"]["examples"] == ["2020-01-01"]
    assert put["properties"]["tag"]["type"] == ["string", "null"]
    assert put["properties"]["parent"] == {"$ref": "#/$defs/Pet"}
    assert set(put["$defs"]["Pet"]["properties"]) == {"name", "secret", "tag", "parent"}
    assert tools["post_pets"]["properties"] == {"body": {"$ref": "#/$defs/Pet"}}
    assert "required" not in tools["post_pets"]


def test_answers_and_hints_come_from_the_document(tmp_path: Path) -> None:
    listed = read(tmp_path, SHOP)

    assert listed.spec is not None
    get, put = listed.spec.tools["getPet"], listed.spec.tools["put_pets_id"]
    assert get.output_schema is not None
    assert set(get.output_schema["properties"]) == {"id", "name", "tag", "parent"}
    assert put.output_schema == {
        "type": "object",
        "properties": {"result": {"type": "array", "items": {"type": "integer"}}},
        "required": ("result",),
    }
    assert get.annotations == {"readOnlyHint": True, "title": "Get a pet"}
    assert put.annotations == {"readOnlyHint": False, "idempotentHint": True}
    assert put.description == "PUT /pets/{id}\n\nDeprecated."
    assert listed.spec.tools["drop_all"].annotations["destructiveHint"] is True


def test_the_card_names_licence_security_and_what_was_renamed(tmp_path: Path) -> None:
    card = read(tmp_path, SHOP).card

    assert card is not None
    assert (card.title, card.licence, card.origin) == ("Pet Shop", "Apache-2.0", "shop.yaml")
    assert card.security == ("key (apiKey header)", "login (http bearer)")
    assert card.deprecated == ("put_pets_id",)
    assert card.tool_names == {"drop_all": "drop all"}
    assert card.remarks == ("POST /pets: operationId 'getPet' is another operation's",)
    assert card.date == "2026-01-31"


def test_names_that_meet_are_told_apart_by_their_place(tmp_path: Path) -> None:
    body = {"type": "object", "properties": {"id": {"type": "integer"}}}
    text = document(
        **{
            "/a/{id}": {
                "post": {
                    "parameters": [
                        {"name": "id", "in": "path", "schema": {"type": "string"}},
                        {"name": "id", "in": "query", "schema": {"type": "boolean"}},
                    ],
                    "requestBody": {"content": {"application/json": {"schema": body}}},
                }
            }
        }
    )

    listed = read(tmp_path, text, "a.json")

    assert listed.spec is not None
    schema = listed.spec.tools["post_a_id"].input_schema
    types = {name: part["type"] for name, part in schema["properties"].items()}
    assert types == {"id": "string", "id_query": "boolean", "id_body": "integer"}
    assert schema["required"] == ("id",)


@pytest.mark.parametrize(
    "operation",
    [
        {"parameters": [None, 5, {"name": "x"}, {"in": "query"}, {"$ref": "#/none"}]},
        {"parameters": "none", "requestBody": [], "responses": 5},
        {"parameters": [{"name": "x", "in": "query", "content": {"text/x": {}}}]},
        {"parameters": [{"name": "x", "in": "query", "schema": {"$ref": "other.yaml#/X"}}]},
        {"requestBody": {"required": True, "content": {"text/plain": {}}}},
        {"requestBody": {"content": {"application/json": None}}},
        {"requestBody": {"content": {"application/json": {"schema": {"allOf": [{}, {}]}}}}},
        {"requestBody": {"$ref": "#/paths/~1x/post/requestBody"}},
        {"responses": {"200": {"content": {"application/json": {"schema": True}}}}},
        {"responses": {"default": {"$ref": "#/paths"}}, "operationId": 5, "summary": []},
        {"operationId": "x" * 300, "deprecated": "yes", "tags": None},
    ],
)
def test_a_broken_operation_is_still_a_tool(tmp_path: Path, operation: Any) -> None:
    listed = read(tmp_path, document(**{"/x": {"post": operation}}), "x.json")

    assert listed.spec is not None
    assert len(listed.spec.tools) == 1


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.yaml", "swagger: '2.0'", "must be an OpenAPI 3 document (found Swagger 2.0)"),
        ("a.json", "{}", "must be an OpenAPI 3 document (found no `openapi` version)"),
        ("a.json", "[]", "must be an OpenAPI 3 document"),
        ("a.yaml", "openapi: 3.0.0\npaths: {}", "holds no operation"),
        ("a.yaml", "openapi: 3.0.0\npaths: null", "holds no operation"),
        ("a.yaml", "a: [", "not valid YAML (line"),
        ("a.yaml", "a: &x [*x]", "an alias stands inside what it names"),
        ("a.yaml", "a: !!python/object/apply:os.system [ls]", "not valid YAML"),
        ("a.json", "{", "not valid JSON"),
        (
            "bomb.yaml",
            "\n".join(
                ["a0: &a0 [x]"]
                + [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 12)]
            ),
            "its aliases unfold to too much",
        ),
    ],
)
def test_a_file_that_is_no_openapi_document_is_one_line(
    tmp_path: Path, name: str, text: str, says: str
) -> None:
    with pytest.raises(SpecError) as caught:
        read(tmp_path, text, name)

    message = str(caught.value)
    assert message.startswith(f"{tmp_path / name}: ")
    assert says in message
    assert "\n" not in message


def test_yaml_is_read_as_json_has_it(tmp_path: Path) -> None:
    text = """
openapi: 3.0.0
paths:
  /x:
    get:
      parameters:
        - {name: on, in: query, schema: {type: string, enum: [yes, no, on, 2020-01-01, 012]}}
"""
    listed = read(tmp_path, text)

    assert listed.spec is not None
    schema = listed.spec.tools["get_x"].input_schema
    assert schema["properties"]["on"]["enum"] == ("yes", "no", "on", "2020-01-01", "012")


def test_a_document_in_which_all_refers_to_all_is_bounded(tmp_path: Path) -> None:
    schemas = {
        f"S{i}": {
            "type": "object",
            "properties": {f"p{j}": {"$ref": f"#/components/schemas/S{j}"} for j in range(40)},
        }
        for i in range(300)
    }
    answer = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/S0"}}}}
    body = {
        "openapi": "3.0.0",
        "paths": {f"/{i}": {"get": {"responses": {"200": answer}}} for i in range(4)},
        "components": {"schemas": schemas},
    }

    listed = read(tmp_path, json.dumps(body), "big.json")

    assert listed.spec is not None
    assert len(listed.spec.tools) == 4
