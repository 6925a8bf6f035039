"""Texts of libraries: a place only where the tree has the library, and where the library speaks first."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from llmdebug.diagnosis.diagnose import diagnose
from llmdebug.diagnosis.verdict import Diagnosis
from llmdebug.http.exchange import Exchange, Request, Response
from llmdebug.index.build import open_index
from llmdebug.source.tree import open_tree

APP = """
from fastapi import FastAPI

app = FastAPI()


@app.post("/chat")
def chat(order: dict):
    return tokenizer.apply_chat_template(order["messages"])
"""
SAID = "Conversation roles must alternate user/assistant/user/assistant/..."
QUOTED = f"Unable to make a parser for this template.\nWhile executing at line 1:\n{SAID}\n{SAID}"


def told(folder: Path, source: str, text: str) -> Diagnosis:
    (folder / "app.py").write_text(source)
    body = {"messages": [{"role": "assistant", "content": "Hi"}]}
    exchange = Exchange(
        request=Request(method="POST", url="http://h:1/chat", body=json.dumps(body).encode()),
        response=Response(status=400, body=json.dumps({"detail": text}).encode()),
    )
    return diagnose(exchange, [open_index(open_tree(str(folder)), keep=False)])


@pytest.mark.parametrize(
    ("source", "text", "has_site"),
    [
        ("from transformers import AutoTokenizer" + APP, SAID, True),
        ("import torch" + APP, SAID, False),
        ("from transformers import AutoTokenizer" + APP, QUOTED, False),
    ],
)
def test_where_a_library_may_have_spoken(tmp_path: Path, source: str, text: str, has_site: bool) -> None:
    assert [site.line for site in told(tmp_path, source, text).sites] == [9] * has_site


def test_whose_text_it_is_when_no_call_is_known(tmp_path: Path) -> None:
    source = "from transformers import AutoTokenizer" + APP.replace("tokenizer.apply_chat_template", "apply")
    found = told(tmp_path, source, SAID)
    assert any("a chat template" in note and "--log" in note for note in found.notes)
