"""Tests on the way to a line of C++, held against a request."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmdebug.index.cpp.arrive import arrivals
from llmdebug.index.grammar import root_of

CODE = rb"""void check(const json & body) {
    bool stream = json_value(body, "stream", false);
    if (stream && body.contains("n") && body.at("n") > 1) {
        throw std::invalid_argument("stream with n");
    }
    if (body.contains("stop") && !body["stop"].is_array()) { return; }
    for (const auto & part : body.at("parts")) {
        if (part.at("kind") == "skip") {
            continue;
        }
        if (!part.contains("text") || part.at("text").empty()) {
            throw std::invalid_argument("a part without text");
        } else if (part.value("size", 0) >= 10) {
            fail(part.at("size"));
        }
    }
}
"""
ROOT = root_of("cpp", CODE)
assert ROOT is not None


def near(line: int, body: Any) -> tuple[bool, set[str]] | None:
    """Of the best way to a line: whether it is certain, and what the innermost test read; None where there is none."""
    assert ROOT is not None
    found, _ = arrivals(ROOT, 1, line, body)
    return (found[0].certain, set(found[0].near)) if found else None


@pytest.mark.parametrize(
    ("line", "body", "expected"),
    [
        (4, {"stream": True, "n": 2}, (True, {"/stream", "/n"})),
        (4, {"stream": True, "n": 1}, None),
        (4, {"stream": "yes", "n": 2}, None),
        (12, {"parts": [{"kind": "a", "text": "x"}, {"kind": "a"}]}, (True, {"/parts/1/text"})),
        (12, {"parts": [{"kind": "skip"}]}, None),
        (12, {"parts": [{"kind": "a", "text": ""}], "stop": "x"}, None),
        (14, {"parts": [{"kind": "a", "text": "x", "size": 11}]}, (True, {"/parts/0/size"})),
    ],
)
def test_the_way_that_the_request_takes(line: int, body: Any, expected: tuple[bool, set[str]] | None) -> None:
    assert near(line, body) == expected


def test_what_a_line_reads_a_key_from() -> None:
    assert ROOT is not None
    found, _ = arrivals(ROOT, 1, 14, {"parts": [{"kind": "a", "text": "x", "size": 11}]}, "size")
    assert [way.holder.pointer for way in found] == ["/parts/0"]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, len(CODE)).map(lambda n: CODE[n : n + 120]), max_size=6).map(b"".join),
    st.integers(1, 20),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["parts", "kind", "text", "n", ""]), inner)
        ),
        max_leaves=12,
    ),
)
def test_no_code_and_no_body_raises(code: bytes, line: int, body: Any) -> None:
    for source in (code, CODE):
        root = root_of("cpp", b"void f(json & body) {\n" + source)
        assert root is not None
        assert len(arrivals(root, 1, line, body, "text")) == 2
