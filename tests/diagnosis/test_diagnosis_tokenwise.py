"""What a tokenizer's report adds to a diagnosis: trail, blame, remedies."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from llmdebug.demo.server import SOURCE
from llmdebug.diagnosis.diagnose import diagnose
from llmdebug.diagnosis.tokenwise import arithmetic, converted, weighed
from llmdebug.diagnosis.verdict import Diagnosis
from llmdebug.http.exchange import Exchange, Failure, Request, Response
from llmdebug.index.build import open_index
from llmdebug.source.tree import open_tree
from llmdebug.tokens.prompts import Budget, Prompt
from llmdebug.tokens.report import PromptTokens, TokenReport
from llmdebug.tokens.values import Cells, Reading, TemplateFault, Vocabulary

INDEX = open_index(open_tree(SOURCE))
VOCABULARY = Vocabulary(name="m", place="/m", kind="BPE", size=1536)
BAD_IDS = "Token id 5072 is out of vocabulary, ids are below 1536"


def exchange(body: Any, status: int, answer: Any, path: str = "/v1/completions") -> Exchange:
    request = Request(
        method="POST",
        url=f"http://h{path}",
        headers=(("Content-Type", "application/json"),),
        body=json.dumps(body).encode(),
    )
    return Exchange(request=request, response=Response(status=status, body=json.dumps(answer).encode()))


def refusal(body: Any, message: str, path: str = "/v1/completions") -> Exchange:
    return exchange(body, 400, {"error": {"message": message, "type": "BadRequestError", "code": 400}}, path)


def ids_read(pointer: str, ids: list[int], text: str = "") -> PromptTokens:
    marks = "".join("t" if id_ < 1536 else "o" for id_ in ids)
    cells = Cells(tuple(ids), tuple(b"a" if mark == "t" else b"" for mark in marks), marks)
    return PromptTokens(
        prompt=Prompt(pointer=pointer, form="ids", ids=tuple(ids)), reading=Reading(text=text, cells=cells)
    )


def text_read(pointer: str, count: int) -> PromptTokens:
    cells = Cells(tuple(range(count)), (b"ab ",) * count, "t" * count)
    return PromptTokens(prompt=Prompt(pointer=pointer, form="text"), reading=Reading(text="ab " * count, cells=cells))


def told(exchange: Exchange, *prompts: PromptTokens, **report: Any) -> Diagnosis:
    return weighed(
        diagnose(exchange, [INDEX]), exchange, TokenReport(vocabulary=VOCABULARY, prompts=prompts, **report), [INDEX]
    )


def steps(diagnosis: Diagnosis) -> list[str]:
    return [f"{step.step}: {step.text}" for step in diagnosis.trail]


def test_valid_ids_are_ruled_out_in_the_founding_case() -> None:
    body = {"model": "alice", "prompt_token_ids": [361, 836, 603]}
    missing = "[{'type': 'missing', 'loc': ('body', 'prompt'), 'msg': 'Field required', 'input': {}}]"
    found = told(refusal(body, missing), ids_read("/prompt_token_ids", [361, 836, 603], "The White Rabbit"))
    assert steps(found)[-4:-1] == [
        "hypothesis: the ids of /prompt_token_ids are bad",
        "experiment: looked up 3 ids in the model's tokenizer (1,536 ids)",
        'against: the ids are valid, they stand for "The White Rabbit": "bad ids" is out',
    ]
    assert (found.kind, [field.pointer for field in found.fields]) == ("missing_field", ["/prompt"])
    titles = [remedy.title for remedy in found.remedies]
    assert titles[0] == "send /prompt_token_ids as prompt"
    converted = found.remedies[titles.index("send the text of /prompt_token_ids as prompt")]
    assert converted.requests[0].body == {"model": "alice", "prompt": "The White Rabbit"}
    assert "Converted back it is what was sent." in converted.why


MISSING = "[{'type': 'missing', 'loc': ('body', 'prompt'), 'msg': 'Field required', 'input': {}}]"


def test_ids_of_broken_utf_8_are_not_offered_as_a_text() -> None:
    cells = Cells((175, 256, 74), (b"\xf0", b"\x9f", b"h"), "xxt")
    reading = Reading(text="\ufffdh", cells=cells)
    prompt = Prompt(pointer="/prompt_token_ids", form="ids", ids=cells.ids)
    asked = refusal({"model": "alice", "prompt_token_ids": [175, 256, 74]}, MISSING)
    found = told(asked, PromptTokens(prompt=prompt, reading=reading))
    assert "for: all ids have a token, but they stand for no text: broken UTF-8 at position 0" in steps(found)
    assert found.remedies and not [remedy.title for remedy in found.remedies if "the text of" in remedy.title]
    assert converted(asked.request, TokenReport(prompts=(PromptTokens(prompt=prompt, reading=reading),)), []) is None


def test_a_remedy_without_any_id_that_has_a_token_is_marked_only() -> None:
    asked = refusal({"model": "alice", "prompt_token_ids": [5072]}, MISSING)
    found = told(asked, ids_read("/prompt_token_ids", [5072]))
    assert all("without the ids" not in remedy.title for remedy in found.remedies)
    assert all(("(5072)" in remedy.why) == ("5072" in json.dumps(remedy.requests[0].body)) for remedy in found.remedies)
    assert any("(5072)" in remedy.why for remedy in found.remedies)


def test_ids_out_of_the_vocabulary_are_blamed_at_their_positions() -> None:
    found = told(
        refusal({"model": "alice", "prompt": [7, 5072, 16331]}, BAD_IDS), ids_read("/prompt", [7, 5072, 16331])
    )
    assert [field.pointer for field in found.fields] == ["/prompt/1", "/prompt/2"]
    assert "for: out of the vocabulary: 5072 at position 1, 16331 at position 2" in steps(found)
    assert found.remedies[0].title == "leave out the 2 ids that have no token"
    assert found.remedies[0].requests[0].body["prompt"] == [7]


def test_ids_that_were_not_complained_of_are_not_blamed() -> None:
    found = told(
        refusal({"model": "x", "prompt": [5072]}, "The model `x` does not exist."), ids_read("/prompt", [5072])
    )
    assert found.kind == "model_not_found"
    assert all(not field.pointer.startswith("/prompt") for field in found.fields)


def test_the_context_is_reckoned_and_filled_exactly() -> None:
    message = "This model's maximum context length is 256 tokens. Please reduce the length of the prompt or completion."
    body = {"model": "alice", "prompt": "ab " * 200, "max_tokens": 100}
    found = told(
        refusal(body, message),
        text_read("/prompt", 200),
        budget=Budget("/max_tokens", 100),
        limit=256,
        limit_from="the server says so",
    )
    reckoned = "200 tokens in /prompt + 100 of /max_tokens, against a context of 256 (the server says so): 44 too many"
    assert f"for: {reckoned}" in steps(found) and f"context: {reckoned}" in found.notes
    first, second = found.remedies[:2]
    assert (first.title, first.requests[0].body["max_tokens"]) == ("set /max_tokens to 56", 56)
    assert (second.title, second.requests[0].body["prompt"]) == ("keep the last 154 tokens of /prompt", "ab " * 154)


def test_a_negative_number_of_tokens_makes_no_room() -> None:
    """Neither in the arithmetic, nor for what a prompt is cut to."""
    message = "This model's maximum context length is 256 tokens. Please reduce the length of the prompt or completion."
    body = {"model": "alice", "prompt": "ab " * 300, "max_tokens": -100}
    read = {"budget": Budget("/max_tokens", -100), "limit": 256, "limit_from": "x"}
    found = told(refusal(body, message), text_read("/prompt", 300), **read)
    assert "context: 300 tokens in /prompt + 1 to write, against a context of 256 (x): 45 too many" in found.notes
    kept = [remedy.requests[0].body["prompt"] for remedy in found.remedies if remedy.title.startswith("keep the last")]
    assert kept and len(kept[0]) < 256 * 3


def test_ids_are_cut_to_what_fits() -> None:
    message = "This model's maximum context length is 8 tokens. Please reduce the length of the prompt or completion."
    body = {"model": "alice", "prompt": list(range(20)), "max_tokens": 3}
    found = told(refusal(body, message), ids_read("/prompt", list(range(20))), budget=Budget("/max_tokens", 3), limit=8)
    assert found.remedies[0].requests[0].body["prompt"] == [15, 16, 17, 18, 19]


def test_a_template_s_refusal_is_blamed_on_its_message() -> None:
    roles = "Conversation roles must alternate user/assistant/user/assistant/..."
    messages = [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]
    fault = TemplateFault(message=roles, line=6, source="{{- raise_exception(…) -}}", index=1)
    prompt = PromptTokens(prompt=Prompt(pointer="/messages/1", form="chat"), fault=fault)
    chat = refusal(
        {"model": "alice", "messages": messages}, f"Failed to apply the chat template: {roles}", "/v1/chat/completions"
    )
    found = told(chat, prompt)
    assert [field.pointer for field in found.fields] == ["/messages/1"]
    assert found.summary == f'/messages/1 is refused by the chat template: "{roles}" (its line 6)'
    other = told(refusal({"model": "x", "messages": messages}, "The model `x` does not exist."), prompt)
    assert all(not field.pointer.startswith("/messages") for field in other.fields)


def test_a_server_that_died_of_bad_ids_is_told_of() -> None:
    request = refusal({"prompt": [9999]}, "").request
    died = Exchange(request=request, failure=Failure(kind="reset", message="The connection was reset."))
    found = told(died, ids_read("/prompt", [9999]))
    assert found.notes[-1] == "ids out of the vocabulary were sent in /prompt: some servers die of them"


def test_an_answered_request_stays_in_peace() -> None:
    fine = exchange({"model": "alice", "prompt": [7]}, 200, {"choices": []})
    found = told(fine, ids_read("/prompt", [7], "x"), limit=256, limit_from="the server says so")
    assert (found.kind, found.fields, found.remedies, found.notes) == ("none", (), (), ())


def test_arithmetic_tells_only_what_is_known() -> None:
    assert arithmetic(TokenReport(prompts=(text_read("/prompt", 3),))) == ""
    full = TokenReport(prompts=(text_read("/prompt", 8),), limit=8, limit_from="x")
    assert arithmetic(full) == "8 tokens in /prompt + 1 to write, against a context of 8 (x): 1 too many"


bodies = st.dictionaries(
    st.sampled_from(["model", "prompt", "messages", "input_ids", "max_tokens"]),
    st.none() | st.integers() | st.text(max_size=5) | st.lists(st.integers(), max_size=4),
)


@given(bodies, st.sampled_from([BAD_IDS, "maximum context length is 8 tokens", "prompt is required"]))
def test_nothing_is_too_odd(body: dict[str, Any], message: str) -> None:
    prompts = (ids_read("/prompt", [1, 5000]), text_read("/input_ids", 30), ids_read("/prompt/0", [1]))
    found = told(refusal(body, message), *prompts, budget=Budget("/max_tokens", 4), limit=8, limit_from="x")
    assert found.trail[-1].step == "verdict" and len(found.remedies) <= 6
