"""Values that a server cuts to a bound or drops for their type without a word."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from llmdebug.diagnosis.diagnose import diagnose
from llmdebug.http.exchange import Exchange, Request, Response
from llmdebug.index.build import Index, open_index
from llmdebug.source.tree import open_tree

SERVER = """
import numpy as np
from fastapi import FastAPI
from pydantic import BaseModel

web = FastAPI()
MOST = 2 * 1024


class Order(BaseModel):
    tokens: int = 16
    heat: float = 1.0
    share: float = 1.0
    beams: int | None = None
    stop: str | list[str] | None = None
    mark: str | list[str] | None = None
    width: int = 1
    careful: bool = False


def prepared(order: Order) -> dict:
    tokens = min(order.tokens, MOST)
    if order.beams is not None and order.beams > 8:
        order.beams = 8
    if order.width > 100:
        raise ValueError("too wide")
    words = [order.stop] if isinstance(order.stop, str) else order.stop
    mark = order.mark if isinstance(order.mark, str) else ""
    enough = order.tokens > max(order.width, 4000)
    return dict(
        tokens=tokens,
        heat=np.clip(order.heat, 0.0, 2.0),
        share=max(0.0, min(1.0, float(order.share))),
        beams=order.beams,
        words=words,
        mark=mark,
        width=max(order.width, 10) if order.careful else order.width,
        enough=enough,
    )


@web.post("/order")
async def place(order: Order):
    return prepared(order)


async def serve(order: Order):
    return await Engine().generate(order)
"""


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    folder: Path = tmp_path_factory.mktemp("cutting")
    (folder / "server.py").write_text(SERVER)
    return open_index(open_tree(folder), keep=False)


@pytest.mark.parametrize(
    ("body", "ignored", "line"),
    [
        ({"tokens": 4096}, "/tokens", "min(order.tokens, MOST)"),
        ({"heat": 3}, "/heat", "np.clip"),
        ({"heat": -1}, "/heat", "np.clip"),
        ({"share": 1.5}, "/share", "share=max"),
        ({"share": -0.5}, "/share", "share=max"),
        ({"beams": 9}, "/beams", "if order.beams is not None"),
        ({"mark": ["a"]}, "/mark", "mark = "),
        ({"width": 5, "careful": True}, "/width", "width=max"),
    ],
)
def test_what_is_cut(body: dict[str, Any], ignored: str, line: str, index: Index) -> None:
    found = told(index, body)
    assert (found.kind, list(found.ignored)) == ("ignored_field", [ignored])
    if "careful" not in body:
        assert line in found.sites[0].excerpt


@pytest.mark.parametrize(
    "body",
    [
        {"tokens": 2048},
        {"heat": 2},
        {"share": 0},
        {"beams": 8},
        {"stop": "a"},
        {"stop": ["a"], "mark": "b"},
        {"width": 5},
        {"width": 11, "careful": True},
        {},
    ],
)
def test_what_is_taken_as_it_is(body: dict[str, Any], index: Index) -> None:
    assert told(index, body).kind == "none"


def told(index: Index, body: dict[str, Any]) -> Any:
    request = Request(method="POST", url="http://127.0.0.1:8000/order", body=json.dumps(body).encode())
    return diagnose(Exchange(request=request, response=Response(status=200, headers=(), body=b"{}")), [index])


def test_a_fresh_tree_tells_the_same_whatever_was_asked_before(tmp_path: Path) -> None:
    (tmp_path / "engine.py").write_text(ENGINE)
    (tmp_path / "server.py").write_text(
        "from engine import Engine\n" + SERVER.replace("prepared(order)\n", "serve(order)\n")
    )
    fresh = open_index(open_tree(tmp_path), keep=False)
    found = told(fresh, {"tokens": 4, "width": 3})
    assert list(found.ignored) == ["/tokens"]
    assert [r.title for r in found.remedies] == ["drop /tokens"]
    assert found.remedies[0].why == "Width is given too, and is taken first."
    assert found.summary == "Answered 200, but /tokens had no effect"


ENGINE = """
class Engine:
    async def generate(self, order: "Order"):
        if order.width is not None:
            room = order.width
        else:
            room = order.tokens
        return room, order.heat, order.share, order.beams, order.stop, order.mark, order.careful
"""
