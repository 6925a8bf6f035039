from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmdebug.demo import model
from llmdebug.demo.model.build import SPECIAL_TOKENS, count_ngrams
from llmdebug.demo.nanoserve.ngram_model import NgramModel
from llmdebug.demo.nanoserve.tokenizer import TextStream, Tokenizer
from llmdebug.demo.nanoserve.tool_parsers import parse_tagged

TOKENIZER = Tokenizer(model.TOKENIZER)
MODEL = NgramModel(model.NGRAMS, TOKENIZER.vocab_size)

token_ids = st.lists(st.integers(0, TOKENIZER.vocab_size - 1), max_size=20)


@given(st.text())
def test_ids_give_back_the_text(text: str) -> None:
    assert TOKENIZER.decode(TOKENIZER.encode(text), skip_special_tokens=False) == text


@given(token_ids)
def test_text_in_pieces_is_the_text(ids: list[int]) -> None:
    pieces = TextStream(TOKENIZER)
    streamed = "".join(map(pieces.push, ids)) + pieces.finish()
    assert streamed == TOKENIZER.decode(ids)


@given(token_ids)
def test_probabilities_are_a_distribution(ids: list[int]) -> None:
    probabilities = MODEL.probabilities(ids)
    assert min(probabilities) > 0
    assert math.isclose(sum(probabilities), 1.0)


def test_special_tokens_come_first() -> None:
    assert [TOKENIZER.token_to_id(token) for token in SPECIAL_TOKENS] == [0, 1, 2]


def test_shipped_table_is_the_corpus_counted() -> None:
    import tokenizers

    paragraphs = model.CORPUS.read_text(encoding="utf-8").splitlines()
    tokenizer = tokenizers.Tokenizer.from_file(str(model.TOKENIZER))
    assert count_ngrams(tokenizer, paragraphs) == model.NGRAMS.read_bytes()


def test_model_stays_small() -> None:
    assert sum(path.stat().st_size for path in model.FOLDER.glob("*.*")) < 500_000


@pytest.mark.parametrize("call", ["{}", "[]", "1", '"x"', "{", '{"name": 1, "arguments": '])
def test_broken_tool_call_stays_text(call: str) -> None:
    text = f"<tool_call>{call}</tool_call>"
    assert parse_tagged(text) == (text, [])


def test_endlessly_nested_tool_call_stays_text() -> None:
    text = f"<tool_call>{'[' * 100_000}</tool_call>"
    assert parse_tagged(text) == (text, [])


def test_tool_call_is_taken_out_of_the_text() -> None:
    text, calls = parse_tagged('Wait. <tool_call>{"name": "weather", "arguments": {"city": "Oxford"}}</tool_call>')
    assert text == "Wait. "
    assert [call["function"] for call in calls] == [{"name": "weather", "arguments": '{"city": "Oxford"}'}]
