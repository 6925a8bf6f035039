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


BY_HAND = {
    "shop/server.py": """
        import json
        from http.server import BaseHTTPRequestHandler


        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                tables = {
                    "/cut": self.cut,
                    "/join": self.join,
                }
                if self.path not in tables:
                    self.send_response(404)
                    self.end_headers()
                    self.wfile.write(b"Not Found")
                    return
                raw = self.rfile.read(int(self.headers["Content-Length"]))
                self.body = json.loads(raw.decode())
                if not isinstance(self.body, dict):
                    self.send_response(400)
                    self.end_headers()
                    self.wfile.write(json.dumps({"error": "Give an object"}).encode())
                    return
                self.size = self.body.get("size", 1)
                self.answer(tables[self.path]())

            def cut(self):
                return self.body["text"][: self.size]

            def join(self):
                return " ".join(self.body["texts"])

            def answer(self, text):
                self.send_response(200)
                self.end_headers()
                self.wfile.write(json.dumps({"text": text}).encode())
    """,
}


def test_a_server_that_picks_its_functions_from_a_table_has_routes(tmp_path: Path) -> None:
    said = told(tmp_path, BY_HAND, "/cutt", {"text": "a"}, 404, "Not Found")
    assert (said.kind, said.sites[0].line) == ("no_route", line_of(tmp_path, "shop/server.py", '"/cut"'))
    assert said.sites[0].end_line >= said.sites[0].line


def test_an_error_that_is_written_as_encoded_json_is_a_refusal(tmp_path: Path) -> None:
    said = told(tmp_path, BY_HAND, "/cut", [1], 400, {"error": "Give an object"})
    assert said.sites[0].line == line_of(tmp_path, "shop/server.py", "Give an object")


def test_a_body_of_the_wrong_shape_is_itself_to_blame(tmp_path: Path) -> None:
    files = {"shop/server.py": BY_HAND["shop/server.py"].replace("Give an object", "The body must be a JSON object")}
    said = told(tmp_path, files, "/cut", [1], 400, {"error": "The body must be a JSON object"})
    assert (said.kind, [f.pointer for f in said.fields]) == ("wrong_type", [""])


def test_a_body_that_is_kept_on_the_object_is_followed_into_its_methods(tmp_path: Path) -> None:
    said = told(tmp_path, BY_HAND, "/cut", {"text": "abc", "size": 2, "colour": "red"}, 200, {"text": "ab"})
    assert said.ignored == ("/colour",)
    assert said.sites[0].line == line_of(tmp_path, "shop/server.py", "def do_POST")


def test_a_body_that_is_spread_or_looped_over_leaves_nothing_to_call_ignored(tmp_path: Path) -> None:
    for number, leak in enumerate(
        ("options = {**body}", "options = {k: v for k, v in body.items() if k != 'text'}", "self.kept.append(body)")
    ):
        source = f"""
            from aiohttp import web


            async def cut(request):
                body = await request.json()
                {leak}
                return web.json_response({{"text": body["text"]}})


            app = web.Application()
            app.router.add_post("/cut", cut)
        """
        folder = tmp_path / str(number)
        said = told(folder, {"server.py": source}, "/cut", {"text": "a", "colour": "red"}, 200, {"text": "a"})
        assert said.ignored == (), leak


READS_BY_HAND = {
    "shop/app.py": """
        from fastapi import FastAPI, HTTPException, Request
        from fastapi.responses import PlainTextResponse
        from pydantic import BaseModel

        app = FastAPI()


        class Order(BaseModel):
            colour: str
            notes: list = []


        @app.exception_handler(500)
        async def on_crash(request: Request, exc: Exception):
            return PlainTextResponse(f"Internal Server Error: {exc}", status_code=500)


        def check_place(payload):
            if payload.get("shelf") is not None and payload.get("box") is not None:
                raise HTTPException(status_code=400, detail="Cannot specify box / bin together with the shelf.")
            if not payload.get("room"):
                raise HTTPException(status_code=400, detail="Invalid input. Please specify the `room` field.")


        @app.post("/store")
        async def store(request: Request):
            payload = await request.json()
            size = payload.get("size", 1)
            check_place(payload)
            return {"size": size}


        @app.post("/order")
        async def order(request: Request):
            order = Order.model_validate(await request.json())
            return {"first": order.notes[0].get("text")}
    """,
}


def test_a_crash_is_found_behind_the_handler_that_prints_it(tmp_path: Path) -> None:
    for path, body, piece, pointer in (
        ("/store", [{"room": 1}], 'payload.get("size"', ""),
        ("/order", {"colour": "red", "notes": [[1]]}, "notes[0].get", "/notes/0"),
    ):
        answer = "Internal Server Error: 'list' object has no attribute 'get'"
        said = told(tmp_path, READS_BY_HAND, path, body, 500, answer)
        assert (said.kind, said.sites[0].line) == ("wrong_type", line_of(tmp_path, "shop/app.py", piece))
        assert said.fields[0].pointer == pointer


def test_a_request_to_specify_a_field_names_the_missing_one(tmp_path: Path) -> None:
    answer = {"detail": "Invalid input. Please specify the `room` field."}
    said = told(tmp_path, READS_BY_HAND, "/store", {"size": 3, "roof": "flat"}, 400, answer)
    assert (said.kind, said.fields[0].pointer) == ("missing_field", "/room")


def test_fields_that_cannot_be_given_together_are_a_conflict(tmp_path: Path) -> None:
    answer = {"detail": "Cannot specify box / bin together with the shelf."}
    said = told(tmp_path, READS_BY_HAND, "/store", {"box": 1, "shelf": 2, "room": "a"}, 400, answer)
    assert said.kind == "conflict"
    assert {f.pointer for f in said.fields[:2]} == {"/box", "/shelf"}


SHARED_FIELDS = {
    "shop/fields.py": """
        from pydantic import Field

        depth_field = Field(default=3, ge=1, le=9, description="How deep.")
        name_field = Field(description="What it is called.")
    """,
    "shop/app.py": """
        from fastapi import FastAPI
        from pydantic import BaseModel, Field

        from .fields import depth_field, name_field

        app = FastAPI()
        size_field = Field(default=1.0, gt=0.0)


        class Box(BaseModel):
            name: str = name_field
            depth: int = depth_field
            size: float = size_field


        @app.post("/box")
        async def box(box: Box):
            return box
    """,
}


def test_a_field_that_is_declared_under_a_name_has_its_limits(tmp_path: Path) -> None:
    for body, error, piece in (
        ({"name": "a", "depth": 12}, ("less_than_equal", "depth", "Input should be less than or equal to 9"), "depth:"),
        ({"name": "a", "size": 0}, ("greater_than", "size", "Input should be greater than 0"), "size:"),
        ({"depth": 2}, ("missing", "name", "Field required"), "name:"),
    ):
        kind, key, message = error
        detail = [{"type": kind, "loc": ["body", key], "msg": message, "input": body.get(key, body)}]
        said = told(tmp_path, SHARED_FIELDS, "/box", body, 422, {"detail": detail})
        assert said.fields[0].pointer == f"/{key}"
        assert (said.sites[0].file, said.sites[0].line) == ("shop/app.py", line_of(tmp_path, "shop/app.py", piece))


BEHIND_A_GATE = {
    "shop/faults.py": """
        import enum


        class Code(str, enum.Enum):
            CLOSED = "closed"
            SOLD = "sold"


        TEXTS = {
            Code.CLOSED: "The shop is shut today.",
            Code.SOLD: "All of these are sold.",
        }


        class Fault(RuntimeError):
            def __init__(self, code: Code, message: str | None = None):
                self.code = code
                self.message = message or TEXTS[code]
                super().__init__(self.message)
    """,
    "shop/app.py": """
        import json

        from fastapi import FastAPI, HTTPException, Request

        from .faults import Code, Fault

        app = FastAPI()


        @app.exception_handler(Fault)
        async def on_fault(request: Request, fault: Fault):
            return {"detail": fault.message}


        def check(order: dict):
            if order["count"] > 3:
                raise Fault(Code.SOLD)
            if order["day"] == 7:
                raise Fault(Code.CLOSED)
            if order["colour"] == "blue":
                raise HTTPException(status_code=400, detail="Blue ones are made on Mondays")


        @app.post("/buy")
        async def buy(request: Request):
            order = json.loads(await request.body())
            check(order)
            return json.loads(order["note"])
    """,
}


def test_a_text_in_a_table_by_code_is_spoken_where_the_code_is_raised(tmp_path: Path) -> None:
    order = {"count": 1, "day": 7, "colour": "red", "note": "{}"}
    for said, piece in (("The shop is shut today.", "Code.CLOSED"), ("All of these are sold.", "Code.SOLD")):
        found = told(tmp_path, BEHIND_A_GATE, "/buy", order, 400, {"detail": said})
        assert (found.sites[0].file, found.sites[0].line) == ("shop/app.py", line_of(tmp_path, "shop/app.py", piece))


def test_the_name_of_a_process_and_a_status_before_the_text_are_taken_off(tmp_path: Path) -> None:
    order = {"count": 1, "day": 1, "colour": "blue", "note": "{}"}
    prefixed = "400: [address=127.0.0.1:41993, pid=7712] Blue ones are made on Mondays"
    found = told(tmp_path, BEHIND_A_GATE, "/buy", order, 500, {"error": prefixed})
    assert found.sites[0].line == line_of(tmp_path, "shop/app.py", "Blue ones")


def test_a_body_that_is_no_json_is_blamed_for_a_silent_crash(tmp_path: Path) -> None:
    found = told(tmp_path, BEHIND_A_GATE, "/buy", '{"count": 1,', 500, "Internal Server Error")
    assert (found.kind, found.sites[0].line) == ("malformed_json", line_of(tmp_path, "shop/app.py", "request.body()"))


def test_a_text_inside_a_body_that_is_json_is_not_blamed_on_the_reading_of_the_body(tmp_path: Path) -> None:
    order = {"count": 1, "day": 1, "colour": "red", "note": "{loud}"}
    answer = {"detail": "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"}
    found = told(tmp_path, BEHIND_A_GATE, "/buy", order, 500, answer)
    assert found.fields[0].pointer == "/note"
    assert found.sites[0].line == line_of(tmp_path, "shop/app.py", 'order["note"]')
    kept = (
        BEHIND_A_GATE["shop/app.py"].replace('order["note"]', "body.note").replace("check(order)", "body = Note(order)")
    )
    again = told(tmp_path, {"shop/app.py": kept}, "/buy", order, 500, answer)
    assert again.sites[0].line == line_of(tmp_path, "shop/app.py", "body.note")
