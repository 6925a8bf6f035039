"""What handlers take: declared models and parameters, and keys that code reads from the raw body."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from llmdebug.index.build import open_index
from llmdebug.index.python.inputs import Inputs, inputs_of
from llmdebug.index.python.types import Either, Limited, ListOf, MapOf, Object, Type, Types
from llmdebug.source.tree import open_tree

HEADER = """\
import json
from dataclasses import dataclass
from typing import Annotated, Any, Optional, Union
import msgspec
from fastapi import APIRouter, Body, Depends, FastAPI, File, Form, Header, Query, Request, UploadFile
from pydantic import BaseModel, TypeAdapter

app = FastAPI()

class Chat(BaseModel):
    messages: list[dict]
    n: int = 1

class Other(BaseModel):
    text: str

class Packed(msgspec.Struct):
    text: str

@dataclass
class Plain:
    text: str

"""


def inputs(folder: Path, code: str) -> Inputs:
    (folder / "app.py").write_text(HEADER + dedent(code))
    index = open_index(open_tree(folder), keep=False)
    facts = index.facts("app.py")
    assert facts is not None and not facts.problem
    return inputs_of(index, Types(index), "app.py", facts.routes[0])


def name_of(kind: Type | None) -> str:
    match kind:
        case None:
            return ""
        case Object(model):
            return model.name
        case Limited(inner, _):
            return name_of(inner)
        case ListOf(item):
            return f"list[{name_of(item)}]"
        case Either(options, _):
            return " | ".join(map(name_of, options))
        case MapOf():
            return "dict"
    return str(getattr(kind, "name", "?"))


BODIES = [
    ("annotation", "@app.post('/x')\ndef f(request: Chat): ...", "Chat"),
    ("after the request", "@app.post('/x')\nasync def f(raw: Request, request: Chat): ...", "Chat"),
    ("Annotated Body", "@app.post('/x')\ndef f(request: Annotated[Chat, Body()]): ...", "Chat"),
    ("default Body", "@app.post('/x')\ndef f(request: Chat = Body(...)): ...", "Chat"),
    ("optional", "@app.post('/x')\ndef f(request: Optional[Chat] = None): ...", "Chat | none"),
    ("union", "@app.post('/x')\ndef f(request: Union[Chat, Other]): ...", "Chat | Other"),
    ("list", "@app.post('/x')\ndef f(items: list[Chat]): ...", "list[Chat]"),
    ("dict", "@app.post('/x')\ndef f(body: dict): ...", "dict"),
    ("quoted", "@app.post('/x')\ndef f(request: 'Chat'): ...", "Chat"),
    ("through Depends", "def read(request: Chat): ...\n@app.post('/x')\ndef f(r=Depends(read)): ...", "Chat"),
    ("through Annotated Depends", "def read(request: Chat): ...\n@app.post('/x')\ndef f(r: Annotated[Any, Depends(read)]): ...", "Chat"),
    ("alias of a union", "Any2 = Union[Chat, Other]\n@app.post('/x')\ndef f(request: Any2): ...", "Chat | Other"),
    ("stars", "@app.post('/x')\nasync def f(raw: Request):\n    body = Chat(**await raw.json())", "Chat"),
    ("stars of a name", "@app.post('/x')\nasync def f(raw: Request):\n    data = await raw.json()\n    body = Chat(**data)", "Chat"),
    ("model_validate", "@app.post('/x')\nasync def f(raw: Request):\n    body = Chat.model_validate(await raw.json())", "Chat"),
    ("model_validate_json", "@app.post('/x')\nasync def f(raw: Request):\n    body = Chat.model_validate_json(await raw.body())", "Chat"),
    ("parse_obj", "@app.post('/x')\nasync def f(raw: Request):\n    data = await raw.json()\n    body = Chat.parse_obj(data)", "Chat"),
    ("msgspec", "@app.post('/x')\nasync def f(raw: Request):\n    body = msgspec.json.decode(await raw.body(), type=Packed)", "Packed"),
    ("msgspec convert", "@app.post('/x')\nasync def f(raw: Request):\n    body = msgspec.convert(await raw.json(), type=Packed)", "Packed"),
    ("dataclass by hand", "@app.post('/x')\nasync def f(raw: Request):\n    body = Plain(**await raw.json())", "Plain"),
    ("in another function", "def make(data):\n    return Chat(**data)\n@app.post('/x')\nasync def f(raw: Request):\n    data = await raw.json()\n    body = make(data)", "Chat"),
    ("json.loads", "@app.post('/x')\nasync def f(raw: Request):\n    data = json.loads(await raw.body())\n    body = Chat(**data)", "Chat"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "code", "expected"), BODIES, ids=[row[0] for row in BODIES])
def test_the_model_of_the_body(tmp_path: Path, name: str, code: str, expected: str) -> None:
    found = inputs(tmp_path, code)
    assert name_of(found.body) == expected
    assert found.by_hand == ("raw: Request)" in code)


def test_several_models_have_keys_of_their_own(tmp_path: Path) -> None:
    found = inputs(tmp_path, "@app.post('/x')\ndef f(first: Chat, second: Other): ...")
    assert found.body is None
    assert {key: name_of(kind) for key, kind in found.embedded.items()} == {"first": "Chat", "second": "Other"}


@pytest.mark.parametrize("spelling", ["request: Chat = Body(embed=True)", "request: Annotated[Chat, Body(embed=True)]"])
def test_an_embedded_model_has_a_key(tmp_path: Path, spelling: str) -> None:
    found = inputs(tmp_path, f"@app.post('/x')\ndef f({spelling}): ...")
    assert (found.body, list(found.embedded)) == (None, ["request"])


def test_parameters_and_where_they_come_from(tmp_path: Path) -> None:
    code = """
    @app.post('/x/{name}')
    def f(name: str, n: int, limit: int = 5, key: str = Header(...), q: str = Query(None), text: str = Form(...),
          file: UploadFile = File(...), raw: Request = None, m: Annotated[int, Query(ge=1)] = 1): ...
    """
    found = inputs(tmp_path, code)
    assert {(p.name, p.where, p.required) for p in found.parameters} == {
        ("name", "path", True),
        ("n", "query", True),
        ("limit", "query", False),
        ("key", "header", True),
        ("q", "query", False),
        ("text", "form", True),
        ("file", "form", True),
        ("m", "query", False),
    }


@pytest.mark.parametrize(
    ("code", "reads", "passes_on"),
    [
        ("body = await raw.json()\n    a = body['prompt']\n    b = body.get('n', 1)", [("prompt", True), ("n", False)], False),
        ("body = await raw.json()\n    a = body.pop('prompt')\n    b = body.pop('n', None)", [("prompt", True), ("n", False)], False),
        ("body = await raw.json()\n    if 'prompt' not in body:\n        raise ValueError('x')", [("prompt", False)], False),
        ("body = await raw.json()\n    use(body)", [], True),
        ("body = await raw.json()\n    for key in body:\n        pass", [], True),
        ("data = json.loads(await raw.body())\n    a = data['prompt']", [("prompt", True)], False),
        ("body = await raw.json()\n    a = read(body)", [("inner", True)], False),
        ("body = await raw.json()\n    a = body['a']['b']", [("a", True)], False),
    ],
)  # fmt: skip
def test_keys_that_are_read_by_hand(tmp_path: Path, code: str, reads: list[tuple[str, bool]], passes_on: bool) -> None:
    around = "def read(body):\n    return body['inner']\n"
    found = inputs(tmp_path, f"{around}@app.post('/x')\nasync def f(raw: Request):\n    {code}\n")
    assert [(read.key, read.required) for read in found.reads] == reads
    assert found.passes_on is passes_on
    assert all(read.path == "app.py" and read.line > 20 for read in found.reads)


def test_a_handler_of_another_file(tmp_path: Path) -> None:
    (tmp_path / "handlers.py").write_text("from models import Ask\nasync def f(request: Ask): ...\n")
    (tmp_path / "models.py").write_text("from pydantic import BaseModel\nclass Ask(BaseModel):\n    q: str\n")
    found = inputs(tmp_path, "from handlers import f\napp.add_api_route('/x', f, methods=['POST'])")
    assert name_of(found.body) == "Ask"


def test_a_handler_that_cannot_be_told_takes_nothing(tmp_path: Path) -> None:
    found = inputs(tmp_path, "app.add_api_route('/x', make_handler(), methods=['POST'])")
    assert (found.body, found.embedded, found.parameters, found.reads) == (None, {}, [], [])
