from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmdebug.jsontext.patch import Operation, PatchError, apply, diff, same

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from([1.0, 0.5]) | st.sampled_from(["", "a", "b"]),
    lambda inner: (
        st.lists(inner, max_size=5) | st.dictionaries(st.sampled_from(["", "a", "b/", "~"]), inner, max_size=4)
    ),
    max_leaves=20,
)


@pytest.mark.parametrize(
    ("old", "new", "patch"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1, "b": "x" * 20}, {"a": 2, "b": "x" * 20}, [{"op": "replace", "path": "/a", "value": 2}]),
        (
            {"model": "m", "prompt_token_ids": [1, 2, 3]},
            {"model": "m", "prompt": [1, 2, 3]},
            [{"op": "move", "from": "/prompt_token_ids", "path": "/prompt"}],
        ),
        ({"model": "m" * 20, "n": 1}, {"model": "m" * 20}, [{"op": "remove", "path": "/n"}]),
        ({"model": "m" * 20}, {"model": "m" * 20, "n": 1}, [{"op": "add", "path": "/n", "value": 1}]),
        (["a" * 30, "b" * 30, "c" * 30], ["a" * 30, "c" * 30], [{"op": "remove", "path": "/1"}]),
        (["a" * 30, "c" * 30], ["a" * 30, "b", "c" * 30], [{"op": "add", "path": "/1", "value": "b"}]),
        ({"a": 1}, {"a": 1.0}, [{"op": "replace", "path": "/a", "value": 1.0}]),
        ({"a": 1}, {"a": True}, [{"op": "replace", "path": "/a", "value": True}]),
        ([1, 2, 3], [4, 5, 6], [{"op": "replace", "path": "", "value": [4, 5, 6]}]),
    ],
)
def test_patches_are_small(old: Any, new: Any, patch: list[Operation]) -> None:
    assert diff(old, new) == patch


def test_many_changed_ids_are_replaced_at_once() -> None:
    patch = diff({"m": 1, "ids": list(range(5000))}, {"m": 1, "ids": list(range(1, 5001))})
    assert len(patch) <= 2


def test_a_deep_difference_does_not_recurse() -> None:
    old: Any = 1
    new: Any = 2
    for _ in range(450):
        old, new = [old], [new]
    assert same(apply(diff(old, new), old), new)


@given(JSON, JSON)
def test_a_patch_leads_from_old_to_new(old: Any, new: Any) -> None:
    before = copy.deepcopy(old)
    patch = diff(old, new)
    assert same(apply(patch, old), new)
    assert same(old, before)
    assert bool(patch) is not same(old, new)


@pytest.mark.parametrize(
    ("operation", "result"),
    [
        ({"op": "add", "path": "/list/-", "value": 4}, {"list": [1, 2, 4], "o": {"k": 1}}),
        ({"op": "copy", "from": "/o", "path": "/list/0"}, {"list": [{"k": 1}, 1, 2], "o": {"k": 1}}),
        ({"op": "move", "from": "/list/0", "path": "/o/m"}, {"list": [2], "o": {"k": 1, "m": 1}}),
        ({"op": "test", "path": "/o", "value": {"k": 1}}, {"list": [1, 2], "o": {"k": 1}}),
        ({"op": "replace", "path": "", "value": 3}, 3),
    ],
)
def test_operations(operation: Operation, result: Any) -> None:
    assert apply([operation], {"list": [1, 2], "o": {"k": 1}}) == result


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "remove", "path": "/none"},
        {"op": "replace", "path": "/none", "value": 1},
        {"op": "add", "path": "/none/x", "value": 1},
        {"op": "test", "path": "/o/k", "value": 1.0},
        {"op": "move", "from": "/o", "path": "/o/k"},
        {"op": "copy", "path": "/o"},
        {"op": "jump", "path": "/o"},
        {"path": "/o"},
        {"op": "add", "path": 5, "value": 1},
        "nonsense",
    ],
)
def test_patches_that_cannot_be_applied(operation: Any) -> None:
    with pytest.raises(PatchError, match="Operation 1"):
        apply([operation], {"list": [1, 2], "o": {"k": 1}})
