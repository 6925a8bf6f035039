"""What is foreseen of a request, against the demo's server and against small servers written here."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Any

import pytest
from refusals import REFUSALS, Refusal

from llmdebug.demo.server import SOURCE
from llmdebug.diagnosis.preflight import preflight
from llmdebug.diagnosis.verdict import Diagnosis
from llmdebug.http.exchange import Request
from llmdebug.index.build import Index, open_index
from llmdebug.source.tree import open_tree

SERVER = """
from fastapi import FastAPI, HTTPException
from pydantic import BaseModel, Field, field_validator, model_validator

web = FastAPI()
SHADES = ("red", "blue")


class Order(BaseModel):
    width: int = Field(default=1, ge=1)
    height: int | None = None
    shade: str = "red"
    note: str | None = None
    names: list[str] = []

    @model_validator(mode="before")
    @classmethod
    def old_names(cls, data):
        if isinstance(data, dict) and "breadth" in data:
            data["width"] = data.pop("breadth")
        return data

    @field_validator("shade")
    @classmethod
    def known_shade(cls, value):
        if value not in SHADES:
            raise ValueError(f"no such shade: {value}")
        return value


def fitted(order: Order) -> int:
    if order.height is not None and order.height > 2 * order.width:
        raise HTTPException(status_code=400, detail=f"{order.height} is too high for a width of {order.width}")
    return order.width


@web.post("/order")
async def place(order: Order):
    if order.note and len(order.names) > 2:
        raise HTTPException(status_code=400, detail="note cannot be used together with more names")
    return {"width": fitted(order)}
"""


@pytest.fixture(scope="module")
def demo() -> Index:
    return open_index(open_tree(str(SOURCE)), keep=False)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Index:
    folder: Path = tmp_path_factory.mktemp("orders")
    (folder / "server.py").write_text(SERVER)
    return open_index(open_tree(str(folder)), keep=False)


def told(index: Index, body: Any, path: str = "/order", method: str = "POST", sent_as: str = "") -> Diagnosis:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = (("Content-Type", sent_as),) if sent_as else ()
    return preflight(Request(method=method, url="http://localhost" + path, headers=headers, body=content), [index])


@pytest.mark.parametrize(
    ("body", "kind", "pointer", "line"),
    [
        ({"width": "wide"}, "wrong_type", "/width", "    width: int"),
        ({"width": 0}, "out_of_range", "/width", "    width: int"),
        ({"shade": "pink"}, "bad_value", "/shade", "            raise ValueError"),
        ({"width": 1, "height": 5}, "out_of_range", "/height", "        raise HTTPException(status_code=400, detail=f"),
        (
            {"note": "x", "names": ["a", "b", "c"]},
            "conflict",
            "/note",
            "        raise HTTPException(status_code=400, d",
        ),
    ],
)
def test_what_is_refused(body: Any, kind: str, pointer: str, line: str, small: Index) -> None:
    found = told(small, body)
    assert found.summary.startswith("Will be refused")
    assert (found.sites[0].file, found.kind) == ("server.py", kind)
    assert SERVER.splitlines()[found.sites[0].line - 1].startswith(line)
    assert pointer in [field.pointer for field in found.fields]
    assert found.remedies


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"width": 3, "height": 6},
        {"breadth": 3},
        {"shade": "blue", "note": "x", "names": ["a", "b"]},
        {"height": None, "names": []},
    ],
)
def test_what_is_taken(body: Any, small: Index) -> None:
    found = told(small, body)
    assert (found.kind, found.fields, found.ignored, found.sites) == ("none", (), (), ())


def test_what_a_validator_puts_right_is_no_problem(small: Index) -> None:
    """It moves the key, and the moved value is held against the field."""
    assert told(small, {"breadth": 0}).fields[0].pointer == "/width"


def test_no_json_and_no_route(small: Index) -> None:
    assert told(small, b'{"width": ').kind == "malformed_json"
    assert told(small, {"width": 1, "depth": 2}).ignored == ("/depth",)


def grown(folder: Path, more: str) -> Index:
    """The small server with more code at its end."""
    (folder / "server.py").write_text(SERVER + textwrap.dedent(more))
    return open_index(open_tree(str(folder)), keep=False)


@pytest.mark.parametrize("path", ["/", "/foo", "/v2/x", "/v1", "/v1/", "/chat"])
def test_a_path_without_a_route(path: str, demo: Index) -> None:
    found = told(demo, {}, path)
    assert (found.kind, found.summary.partition(";")[0]) == ("no_route", f"Will be refused: No route takes POST {path}")
    assert found.sites


@pytest.mark.parametrize("path", ["/docs", "/openapi.json", "/v1/chat/completions", "/gateway/v1/chat/completions"])
def test_a_path_that_something_serves(path: str, demo: Index) -> None:
    assert told(demo, b"", path, "GET").kind != "no_route"


@pytest.mark.parametrize(
    ("more", "path"),
    [
        ('web.mount("/ui", pages)', "/ui/index.html"),
        ('web.mount("/", pages)', "/foo"),
        ('@web.get("/{rest:path}")\nasync def rest(rest: str): ...', "/foo"),
        (
            """
            @web.middleware("http")
            async def ping(request, call_next):
                if request.url.path == "/ping":
                    return Response("pong")
                return await call_next(request)
            """,
            "/ping",
        ),
    ],
)
def test_a_path_that_may_be_served(more: str, path: str, tmp_path: Path) -> None:
    others = '\n@web.get("/one")\nasync def one(): ...\n\n@web.get("/two")\nasync def two(): ...\n\n'
    index = grown(tmp_path, others + textwrap.dedent(more))
    assert told(index, b"", "/three", "GET").kind == ("none" if path == "/foo" else "no_route")
    assert told(index, b"", path, "GET").kind == "none"


def test_the_tree_that_has_the_route_is_believed(demo: Index, small: Index) -> None:
    body = {"model": "alice", "prompt": "Alice"}
    request = Request(method="POST", url="http://localhost/v1/completions", body=json.dumps(body).encode())
    assert preflight(request, [small, demo]).kind == "none"


@pytest.mark.parametrize(
    ("body", "sent_as"),
    [
        (b"model=x&prompt=1", "application/x-www-form-urlencoded"),
        (b'--q\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--q--', "multipart/form-data; boundary=q"),
        (b"<a/>", "application/xml"),
        (b"hello", "text/plain"),
        (b'{"model": "m", "prompt": "p"}', "text/plain"),
    ],
)
def test_a_content_type_that_a_dependency_refuses(body: bytes, sent_as: str, demo: Index) -> None:
    found = told(demo, body, "/v1/completions", sent_as=sent_as)
    assert (found.kind, found.sites[0].file) == ("content_type", "middleware.py")
    assert "raise" in (SOURCE / "middleware.py").read_text().splitlines()[found.sites[0].line - 1]
    assert found.remedies


MEDIA = """
from fastapi.responses import JSONResponse

@web.middleware("http")
async def only_json(request, call_next):
    if request.url.path.startswith("PREFIX") and request.headers.get("content-type") != "application/json":
        return JSONResponse({"error": "Unsupported Media Type: send JSON"}, status_code=415)
    return await call_next(request)
"""


@pytest.mark.parametrize(("prefix", "kind"), [("/or", "content_type"), ("/v1", "malformed_json")])
def test_a_content_type_that_a_middleware_refuses(prefix: str, kind: str, tmp_path: Path) -> None:
    index = grown(tmp_path, MEDIA.replace("PREFIX", prefix))
    assert told(index, b"<a/>", sent_as="application/xml").kind == kind
    assert told(index, {}, sent_as="application/json").kind == "none"


def test_a_body_that_is_demanded(small: Index, tmp_path: Path) -> None:
    found = told(small, b"")
    assert (found.kind, found.summary) == ("missing_field", "Will be refused: The request needs a body, and has none")
    index = grown(tmp_path, '\n@web.post("/any")\nasync def any_order(order: Order | None = None): ...\n')
    assert told(index, b"", "/any").kind == "none"


def test_without_a_tree() -> None:
    found = preflight(Request(method="POST", url="http://localhost/x", body=b"{}"), [])
    assert (found.kind, found.sites) == ("none", ())


FORESEEABLE = {"missing_field", "wrong_type", "out_of_range", "bad_value", "conflict", "malformed_json"}


def test_most_refusals_of_the_demo_are_foreseen(demo: Index) -> None:
    plain: list[Refusal] = [r for r in REFUSALS if not r.flags and r.in_tree and r.content]
    found = {r.name: preflight(_request(r), [demo]) for r in plain}
    foreseen = [name for name, diagnosis in found.items() if diagnosis.summary.startswith("Will be refused")]
    assert len(foreseen) >= 0.6 * len(plain), sorted(set(found) - set(foreseen))
    for name in foreseen:
        assert found[name].sites, name


def _request(refusal: Refusal) -> Request:
    headers = tuple(refusal.all_headers.items())
    url = "http://localhost" + refusal.path
    return Request(method=refusal.method, url=url, headers=headers, body=refusal.content)
