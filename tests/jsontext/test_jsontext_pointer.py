from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmdebug.jsontext import pointer as pointers
from llmdebug.jsontext.pointer import PointerError

DOCUMENT: dict[str, Any] = {"a/b": {"m~n": [1, {"x": None}]}, "": 0, "list": [1, 2, 3]}


@pytest.mark.parametrize(
    ("pointer", "value"),
    [("", DOCUMENT), ("/a~1b/m~0n/0", 1), ("/a~1b/m~0n/1/x", None), ("/", 0), ("/list/2", 3)],
)
def test_get(pointer: str, value: Any) -> None:
    assert pointers.get(DOCUMENT, pointer) == value
    assert pointers.has(DOCUMENT, pointer)


@pytest.mark.parametrize(
    "pointer",
    ["/none", "/list/3", "/list/01", "/list/-1", "/list/-", "/list/" + "9" * 5000, "/list/1/x", "list", "/a~2", "/a~"],
)
def test_pointers_that_lead_nowhere(pointer: str) -> None:
    assert not pointers.has(DOCUMENT, pointer)
    with pytest.raises(PointerError):
        pointers.get(DOCUMENT, pointer)
    with pytest.raises(PointerError):
        pointers.remove(DOCUMENT, pointer)


def test_set_insert_and_remove_leave_the_original() -> None:
    document = {"list": [1, 2], "o": {"k": 1}}
    assert pointers.set(document, "/list/0", 9) == {"list": [9, 2], "o": {"k": 1}}
    assert pointers.set(document, "/list/-", 9)["list"] == [1, 2, 9]
    assert pointers.set(document, "/list/2", 9)["list"] == [1, 2, 9]
    assert pointers.insert(document, "/list/0", 9)["list"] == [9, 1, 2]
    assert pointers.insert(document, "/o/new", 9)["o"] == {"k": 1, "new": 9}
    assert pointers.remove(document, "/list/0")["list"] == [2]
    assert pointers.remove(document, "/o/k")["o"] == {}
    assert pointers.set(document, "", 5) == 5
    assert pointers.remove(document, "") is None
    assert document == {"list": [1, 2], "o": {"k": 1}}


@pytest.mark.parametrize("pointer", ["/no/child", "/list/4", "/list/x", "/o/k/deeper"])
def test_set_needs_its_holder(pointer: str) -> None:
    with pytest.raises(PointerError):
        pointers.set({"list": [1, 2], "o": {"k": 1}}, pointer, 0)


def test_parent() -> None:
    assert pointers.parent("/a/b") == "/a"
    assert pointers.parent("/a") == ""
    assert pointers.parent("") == ""


@given(st.lists(st.text(max_size=6)))
def test_keys_survive_the_pointer(keys: list[str]) -> None:
    assert pointers.parse(pointers.join(*keys)) == tuple(keys)
