"""Fields that a request gives in vain, on a small server that has each kind of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from llmdebug.diagnosis.diagnose import diagnose
from llmdebug.diagnosis.verdict import Diagnosis
from llmdebug.http.exchange import Exchange, Request, Response
from llmdebug.index.build import Index, open_index
from llmdebug.source.tree import open_tree

SERVER = """
from typing import Any

from fastapi import FastAPI, Request
from pydantic import BaseModel

web = FastAPI()


class Frame(BaseModel):
    colour: str = "red"


class Order(BaseModel):
    model: str
    text: str | None = None
    ids: list[int] | None = None
    limit: int | None = None
    old_limit: int | None = None
    stream: bool = False
    stream_options: dict[str, Any] | None = None
    labels: bool = False
    top_labels: int | None = None
    forgotten: int | None = None
    metadata: dict[str, Any] = {}
    frame: Frame | None = None


def drawn(order: Order) -> dict[str, Any]:
    words = order.text
    if order.ids is not None:
        marks = order.ids
    else:
        marks = spell(words)
    limit = order.limit or order.old_limit
    if order.labels:
        marks = marks[: order.top_labels]
    if order.stream:
        return streamed(marks, order.stream_options)
    return {"marks": marks[:limit], "of": order.model, "kept": order.metadata, "frame": order.frame}


@web.post("/order")
async def place(order: Order):
    return drawn(order)


@web.post("/through")
async def through(request: Request):
    return forward(await request.json())
"""


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    folder: Path = tmp_path_factory.mktemp("drawing")
    (folder / "server.py").write_text(SERVER)
    return open_index(open_tree(str(folder)), keep=False)


def told(index: Index, body: dict[str, Any], path: str = "/order") -> Diagnosis:
    request = Request(method="POST", url="http://localhost" + path, body=json.dumps(body).encode())
    return diagnose(Exchange(request=request, response=Response(status=200, body=b"{}")), [index])


@pytest.mark.parametrize(
    ("given", "ignored", "line"),
    [
        ({"colour": "red"}, ["/colour"], "class Order"),
        ({"frame": {"colour": "red", "width": 2}}, ["/frame/width"], "class Frame"),
        ({"text": "a", "ids": [1]}, ["/text"], "    if order.ids is not None"),
        ({"limit": 2, "old_limit": 3}, ["/old_limit"], "    limit = order.limit or"),
        ({"stream_options": {"usage": True}}, ["/stream_options"], "    stream_options:"),
        ({"top_labels": 3, "labels": False}, ["/top_labels"], "    top_labels:"),
        ({"forgotten": 3}, ["/forgotten"], "    forgotten:"),
    ],
)
def test_what_is_given_in_vain(given: dict[str, Any], ignored: list[str], line: str, index: Index) -> None:
    found = told(index, {"model": "m", **given})
    assert (found.kind, list(found.ignored), found.fields) == ("ignored_field", ignored, ())
    assert SERVER.splitlines()[found.sites[0].line - 1].startswith(line)


@pytest.mark.parametrize(
    "given",
    [
        {"text": "a", "limit": 2},
        {"ids": [1], "text": None},
        {"old_limit": 3},
        {"limit": 0, "old_limit": 3},
        {"stream": True, "stream_options": {"usage": True}},
        {"labels": True, "top_labels": 3},
        {"forgotten": None},
        {"metadata": {"anything": {"at": "all"}}},
        {"frame": {"colour": "red"}},
    ],
)
def test_what_has_its_effect(given: dict[str, Any], index: Index) -> None:
    found = told(index, {"model": "m", **given})
    assert (found.kind, found.ignored, found.sites) == ("none", (), ())


def test_a_body_that_is_handed_on_raises_no_alarm(index: Index) -> None:
    assert told(index, {"whatever": 1}, "/through").kind == "none"
