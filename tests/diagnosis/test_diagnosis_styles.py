"""Servers written in other ways than with decorated functions: the refusing line is found in each."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent
from typing import Any

from llmdebug.diagnosis.diagnose import diagnose
from llmdebug.diagnosis.verdict import Diagnosis
from llmdebug.http.exchange import Exchange, Request, Response
from llmdebug.index.build import open_index
from llmdebug.source.tree import open_tree


def told(folder: Path, files: Mapping[str, str], path: str, body: Any, status: int, answer: Any) -> Diagnosis:
    """What is said of one exchange with a server made of these files; a body or answer of text goes as it is."""
    for name, source in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(dedent(source))
    sent = body if isinstance(body, str) else json.dumps(body)
    said = answer if isinstance(answer, str) else json.dumps(answer)
    exchange = Exchange(
        request=Request(
            method="POST",
            url=f"http://127.0.0.1:8000{path}",
            headers=(("content-type", "application/json"),),
            body=sent.encode(),
        ),
        response=Response(status=status, headers=(), body=said.encode()),
    )
    return diagnose(exchange, [open_index(open_tree(str(folder)), keep=False)])


def line_of(folder: Path, name: str, piece: str, nth: int = 0) -> int:
    """The line of the nth place where a piece of text stands in a file."""
    lines = (folder / name).read_text().splitlines()
    return [number for number, line in enumerate(lines, 1) if piece in line][nth]


METHODS_OF_AN_OBJECT = {
    "shop/routes.py": """
        from typing import TYPE_CHECKING

        if TYPE_CHECKING:
            from .api import Api


        def register(api: "Api") -> None:
            api.router.add_api_route("/rank", api.rank, methods=["POST"])
            api.router.add_api_route("/sort", api.sort, methods=["POST"])
    """,
    "shop/client.py": """
        class Client:
            def rank(self, query):
                return self.post("/rank", query)
    """,
    "shop/api.py": """
        from fastapi import HTTPException, Request
        from pydantic import BaseModel


        class RankRequest(BaseModel):
            query: str
            depth: int = 3


        class Api:
            async def sort(self, request: Request):
                body = RankRequest.model_validate(await request.json())
                if body.depth > 9:
                    raise HTTPException(status_code=400, detail="Too deep")
                return body.query

            async def rank(self, request: Request):
                body = RankRequest.model_validate(await request.json())
                if body.depth > 9:
                    raise HTTPException(status_code=400, detail="Too deep")
                return body.query
    """,
}


def test_a_handler_may_be_a_method_of_an_object_that_is_handed_in(tmp_path: Path) -> None:
    for path, nth in (("/sort", 0), ("/rank", 1)):
        said = told(tmp_path, METHODS_OF_AN_OBJECT, path, {"query": "a", "depth": 10}, 400, {"detail": "Too deep"})
        assert (said.sites[0].file, said.sites[0].line) == (
            "shop/api.py",
            line_of(tmp_path, "shop/api.py", "raise", nth),
        )
        assert said.fields[0].pointer == "/depth"


def test_keys_that_such_a_handler_drops_are_ignored(tmp_path: Path) -> None:
    said = told(tmp_path, METHODS_OF_AN_OBJECT, "/rank", {"query": "a", "fields": ["b"]}, 200, {"ok": True})
    assert said.ignored == ("/fields",)


OLD_LIBRARY = {
    "shop/app.py": """
        from fastapi import FastAPI, Request
        from fastapi.responses import PlainTextResponse
        from pydantic.v1 import BaseModel

        app = FastAPI()


        class Item(BaseModel):
            name: str
            parts: list[int]
            size: int = 1


        @app.exception_handler(500)
        async def on_crash(request: Request, exc: Exception):
            return PlainTextResponse(f"Internal Server Error: {exc}", status_code=500)


        @app.post("/item")
        async def item(request: Request):
            item = Item.parse_obj(await request.json())
            return item.name
    """,
}


def test_errors_of_the_first_pydantic_lead_to_the_field(tmp_path: Path) -> None:
    many = (
        "Internal Server Error: 2 validation errors for Item\nname\n  field required (type=value_error.missing)\n"
        "parts -> 1\n  value is not a valid integer (type=type_error.integer)"
    )
    said = told(tmp_path, OLD_LIBRARY, "/item", {"parts": [1, "b"]}, 500, many)
    assert said.kind == "missing_field"
    assert said.fields[0].pointer == "/name"
    assert said.sites[0].line == line_of(tmp_path, "shop/app.py", "name: str")
    one = (
        "Internal Server Error: 1 validation error for Item\nparts -> 1\n"
        "  value is not a valid integer (type=type_error.integer)"
    )
    said = told(tmp_path, OLD_LIBRARY, "/item", {"name": "a", "parts": [1, "b"]}, 500, one)
    assert (said.kind, said.fields[0].pointer) == ("wrong_type", "/parts/1")
    assert said.sites[0].line == line_of(tmp_path, "shop/app.py", "parts: list[int]")


def test_a_list_of_its_errors_is_read_too(tmp_path: Path) -> None:
    detail = [
        {
            "loc": ["body", "size"],
            "msg": "ensure this value is greater than 3",
            "type": "value_error.number.not_gt",
            "ctx": {"limit_value": 3},
        }
    ]
    said = told(tmp_path, OLD_LIBRARY, "/item", {"name": "a", "parts": [], "size": 0}, 422, {"detail": detail})
    assert (said.kind, said.fields[0].pointer) == ("out_of_range", "/size")
