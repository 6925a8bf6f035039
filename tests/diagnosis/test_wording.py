from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmdebug.diagnosis.finding import Finding, Spot, blamed
from llmdebug.diagnosis.ground import Ground, ground_of
from llmdebug.diagnosis.question import Question, ask
from llmdebug.diagnosis.remedies.build import MAKERS
from llmdebug.diagnosis.typewords import described
from llmdebug.diagnosis.wording import MAX_SENTENCE, summary, trail
from llmdebug.http.exchange import Exchange, Request, Response
from llmdebug.index.build import open_index
from llmdebug.index.python.types import ANYTHING, Either, Limited, ListOf, MapOf, OneOf, Scalar, Type
from llmdebug.source.tree import open_tree

SERVER = """
from typing import Literal
from fastapi import FastAPI
from pydantic import BaseModel, Field
app = FastAPI()
class Format(BaseModel):
    type: Literal["text", "json_object"]
class Body(BaseModel):
    prompt: str | list[int]
    temperature: float = Field(default=1.0, ge=0, le=2)
    response_format: Format | None = None
@app.post("/v1/completions")
def complete(body: Body):
    return {}
"""
SITE = Spot("server.py", 10, 10, "Body.prompt", "declares", 0.9, ("Body declares prompt without a default",))


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Ground:
    folder = tmp_path_factory.mktemp("server")
    (folder / "server.py").write_text(SERVER, encoding="utf-8")
    return ground_of(open_index(open_tree(str(folder)), keep=False))


def question_of(
    body: Any, text: str, status: int = 400, method: str = "POST", path: str = "/v1/completions"
) -> Question:
    data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    request = Request(method=method, url="http://h" + path, headers=(("Content-Type", "application/json"),), body=data)
    answer = json.dumps({"error": {"message": text}} if status >= 400 else {"id": "1"}).encode()
    found = ask(Exchange(request=request, response=Response(status=status, body=answer)))
    assert found is not None
    return found


def said(ground: Ground | None, question: Question, finding: Finding) -> str:
    matches = ground.resolve(question.method, question.path).matches if ground else ()
    return summary(question, finding, ground, matches[0] if matches else None)


@pytest.mark.parametrize(
    ("kind", "body", "fields", "text", "sentence"),
    [
        (
            "missing_field",
            {"prompt_token_ids": [1]},
            ["/prompt"],
            "Field required",
            "/prompt is required and missing; /prompt_token_ids is no field here: it is ignored",
        ),
        (
            "wrong_type",
            {"prompt": {"a": 1}},
            ["/prompt"],
            "valid string",
            "/prompt must be a text or a list of whole numbers, and is an object with 1 key",
        ),
        (
            "out_of_range",
            {"temperature": 3},
            ["/temperature"],
            "at most 2",
            '/temperature is 3, which is out of range: "at most 2"',
        ),
        (
            "bad_value",
            {"response_format": {"type": "json"}},
            ["/response_format/type"],
            "Input should be …",
            '/response_format/type is "json", and must be "text" or "json_object"',
        ),
        (
            "conflict",
            {"n": 2, "temperature": 0},
            ["/n", "/temperature"],
            "n must be 1",
            '/n and /temperature do not go together: "n must be 1"',
        ),
        (
            "unsupported",
            {"tools": []},
            ["/tools"],
            "requires --tool-parser",
            "/tools asks for something that the server was not started for (--tool-parser)",
        ),
        ("unknown_field", {"x": 1}, ["/x"], "extra", "/x is refused: no field of this name is taken here"),
        ("model_not_found", {"model": "gpt"}, ["/model"], "?", 'The model "gpt" is not served here'),
        (
            "malformed_json",
            b"{'a'}",
            [],
            "JSON",
            "The body is no JSON: Expecting property name enclosed in double quotes at line 1, column 2",
        ),
    ],
)
def test_a_sentence_for_each_kind(
    ground: Ground, kind: Any, body: Any, fields: list[str], text: str, sentence: str
) -> None:
    ignored = ["/prompt_token_ids"] if kind == "missing_field" else []
    finding = Finding(kind, [blamed(f, "", 0.9) for f in fields], [SITE], ignored=ignored)
    assert said(ground, question_of(body, text), finding) == sentence


def test_paths_and_methods(ground: Ground) -> None:
    wrong = question_of(None, "Not Found", 404, path="/v1/completion")
    assert said(ground, wrong, Finding("no_route", [], [SITE])) == (
        "No route takes POST /v1/completion; the nearest is /v1/completions"
    )
    other = question_of(None, "Method Not Allowed", 405, method="GET")
    assert said(ground, other, Finding("wrong_method", [], [SITE])) == "/v1/completions takes POST, not GET"


def test_an_answer_that_ignored_a_field(ground: Ground) -> None:
    question = question_of({"prompt": "a", "best_of": 2, "x": 1}, "", 200)
    finding = Finding("ignored_field", ignored=["/best_of", "/x"])
    assert said(ground, question, finding) == "Answered 200, but /best_of and /x are not taken here: they had no effect"


def test_what_no_line_explains_is_said(ground: Ground) -> None:
    finding = Finding("bad_value", [blamed("/prompt", "", 0.5)])
    assert "no line of the linked tree" in said(ground, question_of({"prompt": "a"}, "no"), finding)
    assert "tree" not in said(None, question_of({"prompt": "a"}, "no"), finding)


def test_the_trail_speaks_for_and_against() -> None:
    finding = Finding(
        "missing_field",
        [blamed("/prompt", "the complaint points here", 0.95)],
        [SITE],
        [],
        ["/prompt_token_ids"],
    )
    steps = trail(question_of({"prompt_token_ids": [1]}, "Field required"), finding)
    assert [step.step for step in steps] == [
        "symptom", "hypothesis", "for", "hypothesis", "against", "hypothesis", "for", "verdict",
    ]  # fmt: skip
    assert steps[0].text == 'POST /v1/completions answered 400: "Field required"'
    assert steps[1].text == "/prompt is missing"
    assert "server.py:10 (Body.prompt)" in steps[-1].text


def test_escapes_of_a_hostile_answer_do_not_pass() -> None:
    question = question_of({"a": 1}, "\x1b[31mred\x07\n\u202eback " + "x" * 5_000)
    finding = Finding("other")
    texts = [said(None, question, finding), *(step.text for step in trail(question, finding))]
    assert all(text.isprintable() and len(text) <= MAX_SENTENCE for text in texts)


@settings(max_examples=200, deadline=None)
@given(
    kind=st.sampled_from(sorted(MAKERS)),
    body=st.dictionaries(
        st.sampled_from(["prompt", "temperature", "a/b"]), st.integers() | st.text() | st.floats() | st.lists(st.none())
    ),
    fields=st.lists(st.sampled_from(["", "/prompt", "/temperature", "/a~1b", "/q/0/x"]), max_size=3),
    text=st.text(max_size=40),
)
def test_there_is_always_one_short_sentence(ground: Ground, kind: Any, body: Any, fields: list[str], text: str) -> None:
    question = question_of(body, text)
    finding = Finding(kind, [blamed(f, text, 0.5) for f in fields], ignored=fields)
    sentence = said(ground, question, finding)
    assert 0 < len(sentence) <= MAX_SENTENCE
    assert "\n" not in sentence
    assert trail(question, finding)[-1].step == "verdict"


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (ANYTHING, ""),
        (Either((Scalar("str"), Scalar("none"))), "a text or null"),
        (ListOf(ListOf(Scalar("int"))), "a list of lists of whole numbers"),
        (ListOf(ANYTHING), "a list"),
        (OneOf(("a", "b")), '"a" or "b"'),
        (Limited(Scalar("int"), (("ge", 1),)), "a whole number (at least 1)"),
        (MapOf(Scalar("str"), ANYTHING), "an object"),
        (Either((Scalar("str"), ANYTHING)), ""),
    ],
)
def test_types_in_words(kind: Type, words: str) -> None:
    assert described(kind) == words
