"""The standard library's functions: what the walk says of them is what they do."""

from __future__ import annotations

import base64
import json
import os.path
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmdebug.index.python.library import FUNCTIONS, MAX_TEXT
from llmdebug.index.python.values import UNKNOWN, Doubt

REAL: dict[str, Any] = {
    "base64.b64decode": base64.b64decode,
    "json.loads": json.loads,
    "os.path.basename": os.path.basename,
    "os.path.join": os.path.join,
    "re.search": lambda text: re.search("a", text),
    "re.sub": lambda text: re.sub("a", "b", text),
}
values = st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=20), st.lists(st.integers(), max_size=3))


@pytest.mark.parametrize("name", sorted(REAL))
@given(value=values)
def test_what_is_told_is_what_happens(name: str, value: Any) -> None:
    before = {"re.search": ("a",), "re.sub": ("a", "b")}.get(name, ())
    try:
        made = REAL[name](value)
    except Exception as error:
        with pytest.raises(type(error)) as met:
            FUNCTIONS[name](*before, value)
        assert str(met.value) == str(error)
        return
    try:
        told = FUNCTIONS[name](*before, value)
    except Doubt:
        return
    assert told == made or told != told


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_nothing_is_told_of_what_is_not_known(name: str) -> None:
    with pytest.raises(Doubt):
        FUNCTIONS[name](UNKNOWN, UNKNOWN, UNKNOWN)
    with pytest.raises(Doubt):
        FUNCTIONS[name]()


def test_a_part_that_is_no_text_ends_a_path_whatever_the_others_are() -> None:
    with pytest.raises(TypeError, match="NoneType"):
        FUNCTIONS["os.path.join"](UNKNOWN, None)


def test_long_and_deep_texts_are_not_read() -> None:
    for text in ("1" * (MAX_TEXT + 1), "[" * 1_000):
        with pytest.raises(Doubt):
            FUNCTIONS["json.loads"](text)
