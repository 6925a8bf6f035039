"""What validators that see the raw input may change in it."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from llmdebug.index.build import open_index
from llmdebug.index.facts import Class
from llmdebug.index.python.early import Change, early_change
from llmdebug.index.python.models import model_of
from llmdebug.source.tree import open_tree

SERVER = """
from typing import Any
from pydantic import BaseModel, field_validator, model_validator


def looked_at(data):
    if not data.get("size"):
        raise ValueError("no size")
    return data


def renamed(data):
    return {{**data, "width": data["breadth"]}}


class Order(BaseModel):
    size: int = 1

    @{decorator}
    @classmethod
    def early(cls, {arguments}):
{body}
"""
WHOLE = Change(whole=True)


def changed(folder: Path, body: str, decorator: str, arguments: str = "data") -> Change:
    source = SERVER.format(decorator=decorator, arguments=arguments, body=textwrap.indent(body, " " * 8))
    (folder / "server.py").write_text(source)
    index = open_index(open_tree(str(folder)), keep=False)
    known = index.local("server.py")["Order"]
    assert isinstance(known, Class)
    return early_change(index, model_of(index, "server.py", known))


@pytest.mark.parametrize(
    ("body", "change"),
    [
        ("return data", Change()),
        ("if isinstance(data, dict) and data.get('size') == 0:\n    raise ValueError('0')\nreturn data", Change()),
        ("looked_at(data)\nreturn data", Change()),
        ("return looked_at(data)", Change()),
        ("data['size'] = 1\nreturn data", Change(frozenset({"size"}))),
        ("data = dict(data)\ndata.pop('old', None)\nreturn data", Change(frozenset({"old"}))),
        ("return renamed(data)", Change(frozenset({"width"}))),
        ("for part in data.get('parts', []):\n    part['kind'] = 'x'\nreturn data", Change(frozenset({"parts"}))),
        ("data.update(size=1, **{})\nreturn data", WHOLE),
        ("data[name_of(data)] = 1\nreturn data", WHOLE),
        ("return unknown(data)", WHOLE),
        ("data = {}\nreturn data", WHOLE),
        ("data.clear()\nreturn data", WHOLE),
    ],
)
def test_a_validator_of_the_whole_input(body: str, change: Change, tmp_path: Path) -> None:
    assert changed(tmp_path, body, "model_validator(mode='before')") == change


def test_a_wrapping_validator_that_hands_the_input_on(tmp_path: Path) -> None:
    decorator = "model_validator(mode='wrap')"
    assert changed(tmp_path, "made = handler(data)\nreturn made", decorator, "data, handler") == Change()
    assert changed(tmp_path, "return handler({'size': 2})", decorator, "data, handler") == WHOLE


def test_a_validator_of_one_field(tmp_path: Path) -> None:
    decorator = "field_validator('size', mode='before')"
    assert changed(tmp_path, "return value", decorator, "value") == Change()
    assert changed(tmp_path, "return int(value)", decorator, "value") == Change(frozenset({"size"}))
    assert changed(tmp_path, "return 1", "field_validator('size', mode='plain')", "value") == Change(
        frozenset({"size"})
    )
