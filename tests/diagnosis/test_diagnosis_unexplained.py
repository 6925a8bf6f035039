"""A refusal that the linked tree does not explain: what is said instead of a place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from llmdebug.diagnosis.diagnose import diagnose
from llmdebug.http.exchange import Exchange, Headers, Request, Response
from llmdebug.index.build import open_index
from llmdebug.source.tree import open_tree

APP = """
from fastapi import FastAPI

app = FastAPI()


@app.post("/draw")
def draw(order: dict):
    return {}
"""


def notes(folder: Path, status: int, body: Any, headers: Headers = ()) -> str:
    said = body if isinstance(body, str) else json.dumps(body)
    exchange = Exchange(
        request=Request(method="POST", url="http://h:1/draw", body=b"{}"),
        response=Response(status=status, headers=headers, body=said.encode()),
    )
    found = diagnose(exchange, [open_index(open_tree(str(folder)), keep=False)])
    assert found.sites == ()
    return " ".join(found.notes)


@pytest.mark.parametrize(
    ("place", "told"),
    [("app.py", "link its source (--source pypi:litellm==VERSION)"), ("litellm/app.py", "another version")],
)
def test_whose_answer_it_looks_like(tmp_path: Path, place: str, told: str) -> None:
    (tmp_path / place).parent.mkdir(exist_ok=True)
    (tmp_path / place).write_text(APP)
    said = notes(tmp_path, 400, {"error": {"message": "The fleet is out at sea"}}, (("x-litellm-version", "1.80"),))
    assert "looks like one of LiteLLM" in said
    assert told in said


def test_a_shape_that_everybody_has_names_nobody(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(APP)
    assert "looks like" not in notes(tmp_path, 400, {"error": "The fleet is out at sea"})


@pytest.mark.parametrize(
    ("status", "body"),
    [(502, "<html><head><title>502 Bad Gateway</title></head></html>"), (503, "upstream connect error")],
)
def test_a_proxy_answered(tmp_path: Path, status: int, body: str) -> None:
    (tmp_path / "app.py").write_text(APP)
    assert "proxy or gateway" in notes(tmp_path, status, body)


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (500, "Internal Server Error", "other"),
        (500, "", "other"),
        (500, '{"detail": "Internal Server Error"}', "other"),
        (500, '{"error": {"message": "An internal error occurred"}}', "other"),
        (400, "Bad Request", "other"),
        (422, "Unprocessable Entity", "other"),
        (401, "Unauthorized", "auth"),
        (502, "Bad Gateway", "upstream"),
        (405, "Method Not Allowed", "wrong_method"),
        (400, "The colour mauve is none", "bad_value"),
    ],
)
def test_an_answer_that_says_no_more_than_its_status_blames_no_value(status: int, body: str, kind: str) -> None:
    request = Request(method="POST", url="http://h/v1/x", body=b'{"colour": "mauve"}')
    found = diagnose(Exchange(request=request, response=Response(status=status, body=body.encode())), [])
    assert found.kind == kind
    assert kind != "other" or (not found.fields and found.summary.startswith(f"The server answered {status}"))
