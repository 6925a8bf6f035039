"""Locations of validation errors: to a pointer into the body, and to the declaration."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from modelcode import IMPORTS, SIMPLE, Sample, checked, executed, samples
from pydantic import TypeAdapter, ValidationError

from llmdebug.diagnosis.complaint import Complaint
from llmdebug.diagnosis.locate import declarations, has_pointer, located, value_at, walk
from llmdebug.diagnosis.schema import escape

QUIET = (HealthCheck.function_scoped_fixture, HealthCheck.too_slow)
json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=4)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)),
    max_leaves=12,
)


@given(sample=samples(SIMPLE))
@settings(max_examples=200, deadline=None, suppress_health_check=QUIET)
def test_a_location_of_pydantic_leads_to_pointer_and_declaration(sample: Sample, tmp_path: Path) -> None:
    try:
        TypeAdapter(executed(sample.source)("Request")).validate_python(sample.body, from_attributes=True)
        return
    except ValidationError as error:
        found = error.errors(include_url=False)
    checker, kind = checked(tmp_path, sample.source)
    lines = sample.source.splitlines()
    for item in found:
        loc = tuple(step for step in item["loc"] if step != "[key]")
        complaint = Complaint(item["msg"], ("body", *loc), item["type"], item["input"])
        where = located(complaint, sample.body)
        assert where.place == "body"
        assert where.pointer == "".join(f"/{escape(step)}" for step in loc)
        chain = declarations(checker, kind, where.pointer, sample.body, where.markers)
        if item["type"] == "extra_forbidden":
            continue
        first = chain[0].declared
        assert str(loc[0]) in first.names
        assert lines[first.field.line - 1].strip().startswith(f"{first.field.name}:"), sample.source[len(IMPORTS) :]


@given(st.lists(st.one_of(st.integers(-2, 3), st.text(max_size=4)), max_size=5), json_values, json_values)
@settings(max_examples=500)
def test_no_location_and_no_body_make_it_raise(loc: list[str | int], body: Any, given_: Any) -> None:
    for kind in ("missing", "string_type", "union_tag_not_found", ""):
        for prefix in ((), ("body",), ("query",)):
            where = located(Complaint("m", (*prefix, *loc), kind, given_), body)
            assert where.pointer == "" or where.pointer.startswith("/")


@given(json_values)
def test_each_value_is_found_at_its_pointer(body: Any) -> None:
    for pointer, value in walk(body):
        assert value_at(body, pointer) == value
        assert pointer == "" or has_pointer(body, pointer)


@pytest.mark.parametrize("pointer", ["/a", "/a/b", "/a/0/b", "/a/²", "/a/-1", "/x/y", "/a/99999999999999999999"])
def test_what_is_not_there_is_none(pointer: str) -> None:
    body = {"a": [{"b": None}], "": 1}
    assert value_at(body, "/a/0/b") is None and has_pointer(body, "/a/0/b")
    if pointer not in {"/a", "/a/0/b"}:
        assert value_at(body, pointer) is None
        assert not has_pointer(body, pointer)


LOCATIONS: list[tuple[tuple[str | int, ...], str, Any, Any, str, str, tuple[str, ...]]] = [
    # location, type, rejected value, body -> pointer, place, markers
    (("body", "prompt"), "missing", {}, {}, "/prompt", "body", ()),
    (("prompt",), "missing", {}, {}, "/prompt", "body", ()),
    (("query", "n"), "int_parsing", "x", None, "/n", "query", ()),
    (("header", "x-key"), "missing", None, None, "/x-key", "header", ()),
    (("path", "name"), "string_type", None, None, "/name", "path", ()),
    (("body",), "missing", None, None, "", "body", ()),
    (("body", 12), "json_invalid", {}, None, "", "body", ()),
    (("body", "body", "x"), "int_type", 1, {"body": {"x": 1}}, "/body/x", "body", ()),
    (("body", "prompt", "str"), "string_type", 1, {"prompt": 1}, "/prompt", "body", ("str",)),
    (("body", "prompt", "list[int]", 0), "int_type", "a", {"prompt": ["a"]}, "/prompt/0", "body", ("list[int]",)),
    (("body", "messages", 0, "ChatMessage", "role"), "missing", {}, {"messages": [{}]}, "/messages/0/role", "body", ("ChatMessage",)),
    (("body", "m", 0, "function-after[check(), User]", "c"), "missing", {}, {"m": [{}]}, "/m/0/c", "body", ("function-after[check(), User]",)),
    (("body", "a/b"), "int_type", "x", {"a/b": "x"}, "/a~1b", "body", ()),
    (("body", "str"), "int_type", "x", {"str": "x"}, "/str", "body", ()),
    ((0, "content"), "missing", {"role": "user"}, {"messages": [{"role": "user"}]}, "/messages/0/content", "body", ()),
    (("content",), "missing", {"role": "user"}, {"messages": [{"role": "system", "content": ""}, {"role": "user"}]}, "/messages/1/content", "body", ()),
]  # fmt: skip


@pytest.mark.parametrize(("loc", "kind", "given_", "body", "pointer", "place", "markers"), LOCATIONS)
def test_locations(
    loc: tuple[str | int, ...], kind: str, given_: Any, body: Any, pointer: str, place: str, markers: tuple[str, ...]
) -> None:
    where = located(Complaint("m", loc, kind, given_), body)
    assert (where.pointer, where.place, where.markers) == (pointer, place, markers)


UNION = """\
from typing import Literal, Union
from pydantic import BaseModel

class User(BaseModel):
    role: Literal["user"]
    content: str

class Tool(BaseModel):
    role: Literal["tool"]
    tool_call_id: str
    content: Union[str, list["Part"]]

class Part(BaseModel):
    type: Literal["text"]
    text: str

class Request(BaseModel):
    messages: list[Union[User, Tool]]
    extra: dict[str, Part] = {}
    pair: tuple[int, Part] | None = None
    mode: Literal["a", "b"] | None = None
"""


@pytest.mark.parametrize(
    ("body", "pointer", "markers", "expected"),
    [
        ({"messages": [{"role": "tool"}]}, "/messages/0/tool_call_id", (), ["Request.messages", "Tool.tool_call_id"]),
        ({"messages": [{"role": "user"}]}, "/messages/0/content", (), ["Request.messages", "User.content"]),
        ({"messages": [{"role": "user"}]}, "/messages/0/content", ("Tool",), ["Request.messages", "Tool.content"]),
        ({"messages": [{"role": "tool", "content": [{"type": "text"}]}]}, "/messages/0/content/0/text", (), ["Request.messages", "Tool.content", "Part.text"]),
        ({"extra": {"k": {"type": "x"}}}, "/extra/k/type", (), ["Request.extra", "Part.type"]),
        ({"pair": [1, {}]}, "/pair/1/text", (), ["Request.pair", "Part.text"]),
        ({}, "/unknown", (), []),
        ({}, "", (), []),
        ({"messages": [{}]}, "/messages/0/unknown/deep", (), ["Request.messages"]),
    ],
)  # fmt: skip
def test_declarations_along_a_pointer(
    tmp_path: Path, body: Any, pointer: str, markers: tuple[str, ...], expected: list[str]
) -> None:
    checker, kind = checked(tmp_path, UNION)
    chain = declarations(checker, kind, pointer, body, markers)
    assert [f"{d.declared.owner}.{d.declared.field.name}" for d in chain] == expected
    assert [d.depth for d in chain] == sorted(d.depth for d in chain)
