from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmdebug.debugger.answervariables import VariableError, filled
from llmdebug.formats.answerreferences import names_in, references_in
from llmdebug.http.exchange import Exchange, Request, Response

ANSWER = {"id": 'a"b', "n": 7, "choices": [{"message": {"role": "assistant", "content": "hi"}}]}


def lookup(name: str) -> Exchange | None:
    sent = Request(method="POST", url="http://h", headers=(("X-A", "1"),), body=b'{"model": "m"}')
    body = json.dumps(ANSWER).encode()
    response = Response(status=200, headers=(("X-Request-Id", "r-1"),), body=body)
    return {"first": Exchange(request=sent, response=response), "unsent": None}[name]


def body_of(template: str) -> bytes:
    return filled(Request(method="POST", url="http://h", body=template.encode()), lookup).body


@pytest.mark.parametrize(
    ("template", "value"),
    [
        ('{"a": "{{first.response.body.$.id}}"}', {"a": 'a"b'}),
        ('{"a": "<{{first.response.body.$.n}}>"}', {"a": "<7>"}),
        ('{"a": {{first.response.body.$.n}}}', {"a": 7}),
        ('{"a": {{ first.response.body.$.choices[0].message }}}', {"a": {"role": "assistant", "content": "hi"}}),
        ("{\"a\": [{{first.response.body.$['choices'][0].message.role}}]}", {"a": ["assistant"]}),
        ('{"a": "{{first.request.body.$.model}}"}', {"a": "m"}),
        ('{"a": "{{first.response.headers.x-request-id}}"}', {"a": "r-1"}),
        ('{"a": "{{first}} {{ response.body.$.x }}"}', {"a": "{{first}} {{ response.body.$.x }}"}),
    ],
)
def test_values_of_earlier_answers_stand_in_json(template: str, value: object) -> None:
    assert json.loads(body_of(template)) == value


def test_they_stand_in_urls_headers_and_plain_bodies() -> None:
    request = Request(
        method="POST",
        url="http://h/{{first.response.body.$.n}}",
        headers=(("X-Id", "{{first.response.body.$.id}}"),),
        body=b"id={{first.response.body.$.id}}&all={{first.response.body.*}}",
    )
    assert names_in(request) == {"first"}
    assert all("first" in one for one in references_in(request))
    done = filled(request, lookup)
    assert done.url == "http://h/7"
    assert done.headers == (("X-Id", 'a"b'),)
    assert done.body == b'id=a"b&all=' + json.dumps(ANSWER).encode()


@pytest.mark.parametrize(
    ("reference", "told"),
    [
        ("unsent.response.body.$.id", "send that one first"),
        ("zz.response.body.$.id", "asks for a step named zz, which there is not"),
        ("first.response.body.$.nothing", "nothing at $.nothing"),
        ("first.response.body.$.choices[4]", "nothing at $.choices[4]"),
        ("first.response.body.$..id", "only names and indices"),
        ("first.response.headers.X-No", "no header X-No"),
    ],
)
def test_what_is_not_there_is_told(reference: str, told: str) -> None:
    with pytest.raises(VariableError) as caught:
        body_of(f'{{"a": "{{{{{reference}}}}}"}}')
    assert told in str(caught.value)


@given(st.recursive(st.text() | st.integers() | st.booleans(), lambda inner: st.lists(inner, max_size=3), max_leaves=5))
def test_any_value_comes_through_a_json_body_as_it_is(value: Any) -> None:
    response = Response(status=200, body=json.dumps({"v": value}).encode())
    request = Request(
        method="POST", url="http://h", body=b'{"whole": {{a.response.body.$.v}}, "x": "{{a.response.body.$.v}}"}'
    )
    done = json.loads(filled(request, lambda name: Exchange(request=request, response=response)).body)
    assert done["whole"] == value
    assert done["x"] == (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
