"""Failures that nobody caught, in servers of several frameworks; texts with names around them; who speaks a text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from test_diagnosis_styles import line_of, told

from llmdebug.diagnosis.diagnose import diagnose
from llmdebug.http.exchange import Exchange, Request, Response

JSON = (("content-type", "application/json"),)

AIOHTTP_500 = "500 Internal Server Error\n\nServer got itself in trouble"
FLASK_500 = (
    "<!doctype html>\n<html lang=en>\n<title>500 Internal Server Error</title>\n<h1>Internal Server Error</h1>\n"
    "<p>The server encountered an internal error and was unable to complete your request. Either the server is"
    " overloaded or there is an error in the application.</p>\n"
)
AIOHTTP = {
    "server.py": """
        from aiohttp import web

        class Api:
            def __init__(self):
                self.app = web.Application()
                self.app.router.add_post("/chat", self.chat)

            async def chat(self, request):
                data = await request.json()
                model = data.get("model", "m")
                if model.startswith("gpt-"):
                    model = "m"
                turns = [turn["content"] for turn in data["messages"]]
                return web.json_response({"turns": turns})
    """
}
FLASK = {
    "server.py": """
        import os
        import re
        from flask import Flask, jsonify, request

        app = Flask(__name__)

        def has_weights(name):
            return os.path.exists(os.path.join("models", name))

        @app.route("/delete", methods=["DELETE", "POST"])
        def delete():
            data = request.get_json(force=True)
            name = data.get("name")
            if re.search(r"/", name):
                name = name.split("/")[-1]
            return jsonify({"name": name})

        @app.route("/chat", methods=["POST"])
        def chat():
            try:
                data = request.get_json(force=True)
                model = data.get("model")
                if not has_weights(model):
                    return jsonify({"error": "no weights"}), 404
                return jsonify({"ok": True})
            except Exception as error:
                return jsonify({"error": str(error)}), 500
    """
}
CLOSURES = {
    "app.py": """
        from fastapi import FastAPI, HTTPException

        def build(handler: "Handler"):
            app = FastAPI()

            @app.post("/chat")
            async def chat(body: dict):
                return await handler.handle(body)

            return app
    """,
    "handler.py": "from app import build\n",
}
CLOSURES["app.py"] += """
        class Handler:
            async def handle(self, body: dict):
                model = self.resolve(body)
                body["model"] = model
                return body["messages"][0]["role"]

            def resolve(self, body):
                if self.pinned is not None and body.get("model") != self.pinned:
                    raise HTTPException(status_code=400, detail="pinned")
                return self.names[body.get("model")]
"""


@pytest.mark.parametrize(
    ("files", "path", "body", "answer", "kind", "pointer", "piece"),
    [
        (AIOHTTP, "/chat", {"model": "m"}, AIOHTTP_500, "missing_field", "/messages", 'data["messages"]'),
        (AIOHTTP, "/chat", {"messages": [{"content": "a"}, {}]}, AIOHTTP_500, "missing_field", "/messages/1/content", 'turn["content"]'),
        (AIOHTTP, "/chat", {"model": ["m"], "messages": []}, AIOHTTP_500, "wrong_type", "/model", "startswith"),
        (AIOHTTP, "/chat", '{"model": [}', AIOHTTP_500, "malformed_json", None, "await request.json()"),
        (FLASK, "/delete", {"model": "m"}, FLASK_500, "missing_field", "/name", "re.search"),
        (FLASK, "/delete", {"name": 3}, FLASK_500, "wrong_type", "/name", "re.search"),
        (FLASK, "/chat", {}, {"error": "join() argument must be str, bytes, or os.PathLike object, not 'NoneType'"}, "missing_field", "/model", "os.path.join"),
        (FLASK, "/chat", '{"model": [}', {"error": "400 Bad Request: The browser (or proxy) sent a request that this server could not understand."}, "malformed_json", None, "data = request.get_json"),
        (CLOSURES, "/chat", {"model": "m"}, "Internal Server Error", "missing_field", "/messages", 'body["messages"]'),
        (CLOSURES, "/chat", {"messages": [{}]}, "Internal Server Error", "missing_field", "/messages/0/role", 'body["messages"]'),
    ],
)  # fmt: skip
def test_a_failure_that_nobody_caught(
    tmp_path: Path, files: dict[str, str], path: str, body: Any, answer: Any, kind: str, pointer: str | None, piece: str
) -> None:
    found = told(tmp_path, files, path, body, 500, answer)
    name = "app.py" if files is CLOSURES else "server.py"
    lines = [n for n, line in enumerate((tmp_path / name).read_text().splitlines(), 1) if piece in line]
    assert found.sites and found.sites[0].line in lines, found.summary
    assert (found.kind, found.fields[0].pointer if found.fields else None) == (kind, pointer)


def test_a_prefix_that_nobody_knows(tmp_path: Path) -> None:
    source = """
        from fastapi import FastAPI
        from pydantic import BaseModel
        from settings import SETTINGS

        class Query(BaseModel):
            text: str

        def make(prefix: str = SETTINGS.prefix):
            app = FastAPI()

            @app.post(f"{prefix}/embed")
            async def embed(query: Query):
                return query
    """
    missing = {"detail": [{"type": "missing", "loc": ["body", "text"], "msg": "Field required", "input": {}}]}
    found = told(tmp_path, {"app.py": source}, "/v1/embed", {}, 422, missing)
    assert [(s.file, s.line) for s in found.sites[:1]] == [("app.py", line_of(tmp_path, "app.py", "text: str"))]


def test_a_dict_as_the_whole_body(tmp_path: Path) -> None:
    source = """
        from fastapi import FastAPI
        app = FastAPI()

        @app.post("/chat")
        async def chat(body: dict):
            return body
    """
    wrong = {
        "detail": [{"type": "dict_type", "loc": ["body"], "msg": "Input should be a valid dictionary", "input": []}]
    }
    found = told(tmp_path, {"app.py": source}, "/chat", [], 422, wrong)
    assert found.sites[0].line == line_of(tmp_path, "app.py", "@app.post")
    assert (found.kind, found.fields[0].pointer) == ("wrong_type", "")


INDIRECT = {
    "spec.py": """
        from pydantic import BaseModel

        class Tool(BaseModel):
            description: str

        class ChatRequest(BaseModel):
            model: str
            messages: list[dict]
            tools: list[Tool] = []

        class EmbeddingRequest(BaseModel):
            model: str
            input: str

        class Spec:
            def __init__(self, api_path="/v1/chat"):
                self.api_path = api_path
                self.endpoints = []

            def setup(self, server):
                self.add_endpoint(self.api_path, self.chat, ["POST"])

            async def chat(self, request: ChatRequest):
                return request
    """,
    "server.py": """
        class Server:
            def register(self, spec):
                for path, endpoint, methods in spec.endpoints:
                    self.app.add_api_route(path, endpoint=endpoint, methods=methods)
    """,
}


@pytest.mark.parametrize(
    ("body", "loc", "error", "piece"),
    [
        ({"model": "m"}, ["body", "messages"], "missing", None),
        ({"model": "m", "tools": []}, ["body", "messages"], "missing", "messages: list"),
        (
            {"model": "m", "messages": [], "tools": [{}]},
            ["body", "tools", 0, "description"],
            "missing",
            "description: str",
        ),
        ({"model": "m", "input": 5}, ["body", "input"], "string_type", "input: str"),
        ({"model": 5}, ["body", "model"], "string_type", None),
    ],
)
def test_a_model_is_told_by_its_fields(
    tmp_path: Path, body: Any, loc: list[Any], error: str, piece: str | None
) -> None:
    entry = {
        "type": error,
        "loc": loc,
        "msg": "Field required" if error == "missing" else "Input should be a valid string",
    }
    found = told(tmp_path, INDIRECT, "/v1/chat", body, 422, {"detail": [entry]})
    lines = [s.line for s in found.sites[:1]]
    if piece is not None:
        assert lines == [line_of(tmp_path, "spec.py", piece)]
        assert any("is the model with these fields" in note for note in found.notes)


FLASK_PATHS = {
    "app.py": """
        from flask import Flask, jsonify, request
        from marshmallow import ValidationError

        app = Flask(__name__)

        def permutation(order):
            if sorted(order) != list(range(len(order))):
                raise ValidationError("Must be a permutation of the first N non-negative integers")

        @app.route("/folders/<int(signed=True):uid>/name", methods=["PUT", "POST"])
        def rename(uid):
            if uid not in FOLDERS:
                return jsonify({"detail": {"msg": "No folder with this uid exists."}}), 404
            return {}

        @app.route("/folders/<int(signed=True):uid>/size", methods=["POST"])
        def resize(uid):
            if uid not in FOLDERS:
                return jsonify({"detail": {"msg": "No folder with this uid exists."}}), 404
            return {}
    """
}
NOT_FOUND = (
    "<!doctype html>\n<html lang=en>\n<title>404 Not Found</title>\n<h1>Not Found</h1>\n<p>The requested URL was not"
    " found on the server. If you entered the URL manually please check your spelling and try again.</p>\n"
)


SCHEMAS = {
    "app.py": """
        from flask import Flask, jsonify, request
        from marshmallow import Schema, fields, validate

        app = Flask(__name__)

        class BaseSchema(Schema):
            pass

        class InputSchema(BaseSchema):
            prompt: str = fields.String(required=True)
            length: int = fields.Integer(validate=validate.Range(min=1, max=5))

        def with_schema(f):
            def wrapped(*args):
                body = request.get_json()
                return f(load(body), *args)
            return wrapped

        @app.post("/generate")
        @with_schema
        def generate(body: InputSchema):
            return jsonify(body)
    """
}


@pytest.mark.parametrize(
    ("body", "status", "answer", "kind", "pointer", "piece"),
    [
        ({}, 422, {"detail": {"prompt": ["Missing data for required field."]}}, "missing_field", "/prompt", "prompt: str"),
        ({"prompt": "a", "length": 9}, 422, {"detail": {"length": ["Must be greater than or equal to 1 and less than or equal to 5."]}}, "out_of_range", "/length", "length: int"),
        ({"prompt": "a", "stop": 1}, 422, {"detail": {"stop": ["Unknown field."]}}, "unknown_field", "/stop", "class InputSchema"),
        ('{"prompt": ', 400, "<title>400 Bad Request</title><p>The browser (or proxy) sent a request that this server could not understand.</p>", "malformed_json", None, "request.get_json"),
        ({"prompt": "a"}, 415, "<title>415 Unsupported Media Type</title><p>Did not attempt to load JSON data because the request Content-Type was not 'application/json'.</p>", "content_type", None, "request.get_json"),
    ],
)  # fmt: skip
def test_schemas_of_assigned_fields(
    tmp_path: Path, body: Any, status: int, answer: Any, kind: str, pointer: str | None, piece: str
) -> None:
    found = told(tmp_path, SCHEMAS, "/generate", body, status, answer)
    assert [s.line for s in found.sites[:1]] == [line_of(tmp_path, "app.py", piece)]
    assert (found.kind, found.fields[0].pointer if found.fields else None) == (kind, pointer)


OWN_ADDER = {
    "spec.py": INDIRECT["spec.py"]
    .replace('def __init__(self, api_path="/v1/chat"):', "def __init__(self):")
    .replace("self.api_path = api_path", 'self.api_path = "/v1/chat"'),
    "server.py": INDIRECT["server.py"],
}


@pytest.mark.parametrize(
    ("path", "status", "answer", "kind", "piece"),
    [
        ("/v1/chat", 422, {"detail": [{"type": "missing", "loc": ["body", "messages"], "msg": "Field required"}]}, "missing_field", "messages: list"),
        ("/v1/chats", 404, {"detail": "Not Found"}, "no_route", "self.add_endpoint("),
    ],
)  # fmt: skip
def test_a_servers_own_way_to_register(
    tmp_path: Path, path: str, status: int, answer: Any, kind: str, piece: str
) -> None:
    found = told(tmp_path, OWN_ADDER, path, {"model": "m"}, status, answer)
    assert (found.kind, found.sites[0].line) == (kind, line_of(tmp_path, "spec.py", piece))


def test_a_path_converter_with_arguments(tmp_path: Path) -> None:
    answer = {"detail": {"msg": "No folder with this uid exists."}}
    found = told(tmp_path, FLASK_PATHS, "/folders/7/size", {"size": 1}, 404, answer)
    assert found.sites[0].line == line_of(tmp_path, "app.py", "return jsonify", 1)


def test_a_frameworks_page_for_unknown_paths(tmp_path: Path) -> None:
    found = told(tmp_path, FLASK_PATHS, "/folder", {}, 404, NOT_FOUND)
    assert found.kind == "no_route"


@pytest.mark.parametrize(
    ("answer", "kind", "pointer", "piece"),
    [
        ({"detail": {"order": ["Must be a permutation of the first N non-negative integers"]}}, None, "/order", "raise ValidationError"),
        ({"detail": {"prompt": ["Missing data for required field."]}}, "missing_field", "/prompt", None),
        ({"errors": {"stop": ["Unknown field."]}}, "unknown_field", "/stop", None),
        ({"json": {"items": {"0": {"n": ["Not a valid integer."]}}}}, "wrong_type", "/items/0/n", None),
        ({"detail": {"n": ["Must be greater than or equal to 1 and less than or equal to 5."]}}, "out_of_range", "/n", None),
    ],
)  # fmt: skip
def test_complaints_by_field(tmp_path: Path, answer: Any, kind: str | None, pointer: str, piece: str | None) -> None:
    body = {"order": [2, 2], "stop": ["a"], "items": [{"n": "x"}], "n": 9}
    found = told(tmp_path, FLASK_PATHS, "/folders/7/size", body, 422, answer)
    assert found.fields[0].pointer == pointer
    assert kind in {None, found.kind}
    assert [s.line for s in found.sites] == ([line_of(tmp_path, "app.py", piece)] if piece else [])


WRAPPED = {
    "app.py": """
        from fastapi import FastAPI, HTTPException
        from work import NotDeployed, run

        app = FastAPI()

        @app.post("/rank")
        async def rank(body: dict):
            try:
                return run(body)
            except NotDeployed as error:
                raise HTTPException(400, f"NotDeployedError: the model does not support ranking here. Reason: {error}")
            except ValueError as error:
                raise HTTPException(400, f"{error.__class__} -> {error}")
    """,
    "work.py": """
        class NotDeployed(Exception):
            pass

        def run(body):
            if "rank" not in CAPABILITIES:
                raise NotDeployed("the loaded model cannot rank. " f"Options are {CAPABILITIES}.")
            if body["size"] > 8:
                raise ValueError(f"size={body['size']} is not in a valid range. Select between 1 and 8.")
    """,
}


@pytest.mark.parametrize(
    ("text", "piece"),
    [
        (
            "NotDeployedError: the model does not support ranking here. Reason: the loaded model cannot rank."
            " Options are {'embed'}.",
            "raise NotDeployed",
        ),
        ("<class 'ValueError'> -> size=9 is not in a valid range. Select between 1 and 8.", "raise ValueError"),
    ],
)
def test_a_class_name_before_a_text(tmp_path: Path, text: str, piece: str) -> None:
    found = told(tmp_path, WRAPPED, "/rank", {"size": 9}, 400, {"detail": text})
    assert (found.sites[0].file, found.sites[0].line) == ("work.py", line_of(tmp_path, "work.py", piece))


TWINS = """
    from dataclasses import dataclass
    from fastapi import FastAPI, HTTPException
    from pydantic import BaseModel

    app = FastAPI()

    @dataclass
    class Params:
        budget: int = 16

        def verify(self):
            if self.budget < 1:
                raise ValueError(f"value must be at least 1, got {self.budget}.")

    @dataclass
    class Other:
        size: int = 0

        def verify(self):
            if self.size < 1:
                raise ValueError(f"value must be at least 1, got {self.size}.")

    class Query(BaseModel):
        prompt: str
        max_tokens: int = 16

        def to_params(self):
            return Params(budget=self.max_tokens)

    def run(query: Query):
        params = query.to_params()
        params.verify()

    @app.post("/gen")
    async def gen(query: Query):
        try:
            run(query)
        except ValueError as error:
            raise HTTPException(400, str(error))
"""


def test_a_default_says_nothing_of_an_object_that_is_filled_from_the_request(tmp_path: Path) -> None:
    answer = {"detail": "value must be at least 1, got -1."}
    found = told(tmp_path, {"app.py": TWINS}, "/gen", {"prompt": "a", "max_tokens": -1}, 400, answer)
    assert found.sites[0].line == line_of(tmp_path, "app.py", "raise ValueError", 0)
    assert not any("does not hold" in why for site in found.sites[:1] for why in site.why)


SPEAKERS = {
    "errors.py": """
        class MissingError(Exception):
            def __init__(self, route, param):
                super().__init__(f"{route}: Missing the required parameter '{param}' in this call.")

        class OtherError(Exception):
            pass
    """,
    "routes.py": """
        from fastapi import FastAPI
        from errors import MissingError, OtherError

        app = FastAPI()

        @app.post("/search")
        async def search(body: dict):
            raise MissingError(route="/search", param="query")

        @app.post("/chat")
        async def chat(body: dict):
            missing = find_missing(body)
            error_class = MissingError if missing.known else OtherError
            raise error_class(route=missing.route, param=missing.name)
    """,
}


def test_a_class_is_raised_under_another_name(tmp_path: Path) -> None:
    answer = {"detail": "/chat: Missing the required parameter 'messages' in this call."}
    found = told(tmp_path, SPEAKERS, "/chat", {"model": "m"}, 400, answer)
    assert [s.line for s in found.sites] == [line_of(tmp_path, "routes.py", "raise error_class")]
    assert found.fields[0].pointer == "/messages"


def test_without_a_tree_no_default_is_promised() -> None:
    request = Request(method="POST", url="http://h/n", headers=JSON, body=b'{"n": 9}')
    detail = {"detail": [{"type": "less_than_equal", "loc": ["body", "n"], "msg": "too large", "ctx": {"le": 5}}]}
    response = Response(status=422, body=json.dumps(detail).encode())
    found = diagnose(Exchange(request=request, response=response))
    assert found.remedies
    assert not any("default" in remedy.why for remedy in found.remedies)
