from __future__ import annotations

import json
from typing import Any

import pytest

from llmdebug.debugger.bounded import bounded, limit_names
from llmdebug.demo.server import SOURCE
from llmdebug.diagnosis.finding import blamed
from llmdebug.diagnosis.verdict import Diagnosis, Remedy
from llmdebug.http.exchange import Request
from llmdebug.index.build import open_index
from llmdebug.source.tree import open_tree

DECLARED = frozenset({"max_tokens"})


def post(body: Any) -> Request:
    return Request(method="POST", url="http://h:1/v1/completions", body=json.dumps(body).encode())


def made(body: Any, *blame: str, patched: str = "") -> Any:
    diagnosis = Diagnosis(summary="s", kind="other", fields=tuple(blamed(pointer, "", 0.9) for pointer in blame))
    patch = ({"op": "replace", "path": patched, "value": 1},) if patched else ()
    remedy = Remedy(title="t", why="w", patch=patch)
    return json.loads(bounded(post(body), remedy, diagnosis, DECLARED).body)


@pytest.mark.parametrize(
    ("body", "limit"),
    [
        ({"prompt": "x", "max_tokens": 4096}, {"max_tokens": 16}),
        ({"prompt": "x", "max_tokens": 3}, {"max_tokens": 3}),
        ({"prompt": "x", "max_completion_tokens": 99}, {"max_completion_tokens": 16}),
        ({"prompt": "x"}, {"max_tokens": 16}),
        ({"prompt": "x", "min_tokens": 20}, {}),
        ({"prompt": "x", "max_tokens": True}, {"max_tokens": True}),
    ],
)
def test_few_tokens(body: Any, limit: Any) -> None:
    assert {
        name: value for name, value in made(body).items() if name.endswith("_tokens") and name != "min_tokens"
    } == limit


def test_what_the_refusal_is_about_stays() -> None:
    body = {"prompt": "x", "max_tokens": 4096}
    assert made(body, "/max_tokens") == body
    assert made(body, patched="/max_tokens") == body


def test_what_is_no_object_stays() -> None:
    assert made([1]) == [1]


def test_the_schema_tells_the_limits() -> None:
    index = open_index(open_tree(str(SOURCE)), keep=False)
    assert "max_tokens" in limit_names(post({}))(index)
    assert limit_names(Request(method="GET", url="http://h:1/nowhere"))(index) == frozenset()
