"""Remedies that make something where nothing was given, or that leave out what cannot be mended."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent
from typing import Any

from llmdebug.diagnosis.diagnose import diagnose
from llmdebug.diagnosis.verdict import Remedy
from llmdebug.http.exchange import Exchange, Request, Response
from llmdebug.index.build import open_index
from llmdebug.source.tree import open_tree

SERVER = """
    from fastapi import FastAPI
    from fastapi.responses import JSONResponse
    from pydantic import BaseModel, Field

    app = FastAPI()


    class Shape(BaseModel):
        corners: int


    class Frame(BaseModel):
        shape: Shape
        width: int


    class Order(BaseModel):
        text: str | None = None
        frame: Frame | None = None
        earlier: str | None = None
        parts: dict[str, Shape] | None = Field(default=None, min_length=1)


    class Studio:
        def __init__(self, keeps):
            self.keeps = keeps

        def nothing_is_kept(self):
            error = {"message": "Nothing is kept here: start with --keep-drawings.", "param": "earlier"}
            return JSONResponse({"error": error}, status_code=400)

        def draw(self, order: Order):
            if order.earlier is not None and not self.keeps:
                return self.nothing_is_kept()
            return {}


    studio = Studio(False)


    @app.post("/draw")
    def draw(order: Order):
        return studio.draw(order)
"""


def offered(folder: Path, body: Any, status: int, answer: Any, method: str = "POST") -> tuple[Remedy, ...]:
    (folder / "app.py").write_text(dedent(SERVER))
    data = b"" if body is None else json.dumps(body).encode()
    exchange = Exchange(
        request=Request(method=method, url="http://h:1/draw", body=data),
        response=Response(status=status, body=json.dumps(answer).encode()),
    )
    return diagnose(exchange, [open_index(open_tree(str(folder)), keep=False)]).remedies


def sent(remedies: tuple[Remedy, ...]) -> list[Any]:
    return [remedy.requests[0].body for remedy in remedies if remedy.requests]


def test_a_helper_that_always_refuses_says_nothing_of_the_remedy(tmp_path: Path) -> None:
    said = {"error": {"message": "Nothing is kept here: start with --keep-drawings.", "param": "earlier"}}
    remedies = offered(tmp_path, {"text": "a house", "earlier": "d-1"}, 400, said)
    assert remedies[0].title == "start the server with --keep-drawings"
    assert {"text": "a house"} in sent(remedies)


def test_another_method_gets_a_body_that_says_something(tmp_path: Path) -> None:
    remedies = offered(tmp_path, None, 405, {"detail": "Method Not Allowed"}, "GET")
    assert (remedies[0].requests[0].method, remedies[0].requests[0].body) == ("POST", {"text": "Hello"})


def test_what_is_missing_in_an_optional_object_may_go_with_it(tmp_path: Path) -> None:
    entry = {"type": "missing", "loc": ["body", "frame", "shape"], "msg": "Field required", "input": {"width": 3}}
    bodies = sent(offered(tmp_path, {"text": "a house", "frame": {"width": 3}}, 422, {"detail": [entry]}))
    assert bodies[0]["frame"] == {"width": 3, "shape": {"corners": 1}}
    assert bodies[-1] == {"text": "a house"}


def test_a_map_that_must_not_be_empty_gets_an_entry(tmp_path: Path) -> None:
    entry = {"type": "dict_type", "loc": ["body", "parts"], "msg": "Input should be a valid dictionary", "input": "x"}
    bodies = sent(offered(tmp_path, {"text": "a house", "parts": "x"}, 422, {"detail": [entry]}))
    assert {"first": {"corners": 1}} in [body.get("parts") for body in bodies]
