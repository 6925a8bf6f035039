"""What is foreseen beyond a body's schema: parameters beside it, computed bounds, and checks far from the handler."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from llmdebug.diagnosis.preflight import preflight
from llmdebug.diagnosis.verdict import Diagnosis
from llmdebug.http.exchange import Request
from llmdebug.index.build import Index, open_index
from llmdebug.source.tree import open_tree

SERVER = """
import torch
from fastapi import FastAPI, File, Form, HTTPException, Query, Request, UploadFile
from pydantic import BaseModel, Field, field_validator

from engine import Engine

app = FastAPI()
engine = Engine()
LOWEST = -(2**63)


class Item(BaseModel):
    id: str


class Order(BaseModel):
    seed: int | None = Field(None, ge=LOWEST, le=torch.iinfo(torch.int64).max)
    items: list[Item] = []
    sampling: dict | None = None
    stream: bool = False
    most: int | None = None
    old_most: int | None = None

    def limits(self):
        return {"longest": self.most or self.old_most, "stream": self.stream}

    @field_validator("items")
    @classmethod
    def distinct(cls, items):
        seen = set()
        for item in items:
            if item.id in seen:
                raise ValueError(f"{item.id} stands there twice")
            seen.add(item.id)
        return items


def shown(item: Item) -> str:
    if item.id == "bad":
        raise HTTPException(400, f"no item is called {item.id}")
    return item.id


@app.post("/order")
async def order(order: Order):
    torch.manual_seed(order.seed)
    names = ", ".join(shown(item) for item in order.items)
    if order.stream:
        return await streamed(order)
    else:
        return await engine.generate(order)


async def streamed(order: Order):
    return [piece async for piece in engine.generate(order)]


@app.post("/flush")
async def flush(timeout: float = Query(0.0, ge=0.0)):
    return {}


@app.get("/named")
async def named(name: str):
    return {}


@app.post("/hear")
async def hear(file: UploadFile = File(...), model: str = Form("tiny")):
    return {}


@app.post("/raw")
async def raw(request: Request):
    try:
        body = await request.json()
    except ValueError as error:
        raise HTTPException(400, "no JSON") from error
    return len(body)


@app.post("/lenient")
async def lenient(request: Request):
    try:
        body = await request.json()
    except ValueError:
        body = {}
    return len(body)
"""
ENGINE = """
import msgspec


class Sampling(msgspec.Struct, kw_only=True):
    heat: float = 1.0
    least: float = 0.0

    def verify(self, size):
        if not 0.0 <= self.least <= 1.0:
            raise ValueError(f"least must be in [0, 1], got {self.least}.")


class Limits(msgspec.Struct, kw_only=True):
    longest: int | None = None
    stream: bool = False

    def verify(self, size):
        if self.longest is not None and self.longest < 1:
            raise ValueError(f"longest must be at least 1, got {self.longest}.")


class Engine:
    def __init__(self):
        self.sampling_class = Sampling
        self.size = 100

    async def generate(self, obj):
        if obj.many:
            for one in obj.split():
                await self.prepared(one)
        else:
            await self.prepared(obj)

    async def prepared(self, obj):
        sampling = self.sampling_class(**dict(obj.sampling or {}))
        sampling.verify(self.size)
        limits = Limits(**obj.limits())
        limits.verify(self.size)
        return sampling
"""


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    folder: Path = tmp_path_factory.mktemp("reaching")
    (folder / "server.py").write_text(SERVER)
    (folder / "engine.py").write_text(ENGINE)
    return open_index(open_tree(str(folder)), keep=False)


def told(index: Index, path: str, body: bytes, kind: str = "application/json", method: str = "POST") -> Diagnosis:
    headers = (("Content-Type", kind),)
    return preflight(Request(method=method, url="http://127.0.0.1:8000" + path, headers=headers, body=body), [index])


def as_json(value: object) -> bytes:
    return json.dumps(value).encode()


@pytest.mark.parametrize(
    ("body", "kind", "line"),
    [
        ({"seed": 2**63}, "out_of_range", "    seed: int"),
        ({"seed": -(2**63) - 1}, "out_of_range", "    seed: int"),
        ({"items": [{"id": "a"}, {"id": "a"}]}, "bad_value", "twice"),
        ({"items": [{"id": "a"}, {"id": "bad"}]}, "bad_value", "no item is called"),
        ({"sampling": {"least": 2}}, "out_of_range", "least must be in"),
        ({"most": 0, "old_most": -1}, "out_of_range", "longest must be"),
        ({"most": -1, "sampling": {"heat": 1}}, "out_of_range", "longest must be"),
    ],
)
def test_bounds_that_are_computed_and_checks_that_are_far(body: object, kind: str, line: str, index: Index) -> None:
    found = told(index, "/order", as_json(body))
    assert found.kind == kind
    assert line in found.sites[0].excerpt


@pytest.mark.parametrize(
    "body",
    [
        {"seed": 2**63 - 1},
        {"seed": -(2**63)},
        {"items": [{"id": "a"}, {"id": "b"}]},
        {"sampling": {"least": 1}},
        {"most": 1, "sampling": {"heat": 1}},
        {"sampling": {"least": 0.5}, "stream": True},
    ],
)
def test_what_keeps_these_bounds(body: object, index: Index) -> None:
    assert told(index, "/order", as_json(body)).kind == "none"


def test_bounds_of_the_query(index: Index) -> None:
    found = told(index, "/flush?timeout=-1", b"")
    assert (found.kind, found.fields[0].pointer, found.fields[0].place) == ("out_of_range", "/timeout", "query")
    assert told(index, "/flush?timeout=1.5", b"").kind == "none"
    assert told(index, "/flush", b"").kind == "none"


def test_a_parameter_of_the_query_that_is_missing(index: Index) -> None:
    found = told(index, "/named", b"", method="GET")
    assert (found.kind, found.fields[0].pointer) == ("missing_field", "/name")
    assert told(index, "/named?name=x", b"", method="GET").kind == "none"


FORM = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.wav"\r\n\r\nRIFF\r\n--x--\r\n'


@pytest.mark.parametrize(
    ("body", "content_type", "kind"),
    [
        (as_json({"model": "tiny"}), "application/json", "missing_field"),
        (b"model=tiny", "application/x-www-form-urlencoded", "missing_field"),
        (FORM, "multipart/form-data; boundary=x", "none"),
        (FORM.replace(b'name="file"', b'name="sound"'), "multipart/form-data; boundary=x", "missing_field"),
    ],
)
def test_fields_of_a_form(body: bytes, content_type: str, kind: str, index: Index) -> None:
    assert told(index, "/hear", body, content_type).kind == kind


def test_a_body_that_is_read_by_hand(index: Index) -> None:
    assert told(index, "/raw", b'{"a": ').kind == "malformed_json"
    assert told(index, "/lenient", b'{"a": ').kind == "none"
