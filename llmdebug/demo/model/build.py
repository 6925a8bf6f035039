"""Makes `tokenizer.json` and `ngrams.bin` from `corpus.txt`, the same bytes each time, and what stands beside them.

The table's format, after zlib: for each order 1, 2 and 3 a little-endian uint32 with the number of
rows, then the rows column by column as uint16 (the context's tokens, the token, how often it came),
sorted. Each paragraph is counted as one answer of the assistant, so that the model also knows how
an answer begins and ends.
"""

from __future__ import annotations

import json
import struct
import sys
import zlib
from array import array
from collections import Counter

from tokenizers import Tokenizer, decoders, pre_tokenizers
from tokenizers.models import BPE
from tokenizers.trainers import BpeTrainer

from llmdebug.demo.model import CHAT_TEMPLATE, CORPUS, NGRAMS, TOKENIZER, TOKENIZER_CONFIG
from llmdebug.demo.nanoserve.chat_template import TEMPLATES
from llmdebug.demo.nanoserve.settings import Settings

VOCABULARY = 1536
SPECIAL_TOKENS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
ORDERS = (1, 2, 3)


def train_tokenizer(paragraphs: list[str]) -> Tokenizer:
    """A byte-level BPE tokenizer: every text has ids, and the ids give back the very text."""
    tokenizer = Tokenizer(BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=SPECIAL_TOKENS,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(paragraphs, trainer)
    return tokenizer


def count_ngrams(tokenizer: Tokenizer, paragraphs: list[str]) -> bytes:
    """The compressed table of all n-grams of the paragraphs."""
    counts: dict[int, Counter[tuple[int, ...]]] = {order: Counter() for order in ORDERS}
    for paragraph in paragraphs:
        ids = tokenizer.encode(f"<|im_start|>assistant\n{paragraph}<|im_end|>").ids
        for order in ORDERS:
            counts[order].update(zip(*(ids[start:] for start in range(order)), strict=False))
    return zlib.compress(b"".join(_table(counts[order]) for order in ORDERS), 9)


def _table(counts: Counter[tuple[int, ...]]) -> bytes:
    rows = [(*ngram, min(count, 0xFFFF)) for ngram, count in sorted(counts.items())]
    columns = [array("H", column) for column in zip(*rows, strict=True)]
    if sys.byteorder == "big":
        for column in columns:
            column.byteswap()
    return struct.pack("<I", len(rows)) + b"".join(column.tobytes() for column in columns)


def main() -> None:
    paragraphs = CORPUS.read_text(encoding="utf-8").splitlines()
    train_tokenizer(paragraphs).save(str(TOKENIZER), pretty=False)
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": Settings.max_model_len,
        "eos_token": "<|im_end|>",
        "clean_up_tokenization_spaces": False,
    }
    TOKENIZER_CONFIG.write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    CHAT_TEMPLATE.write_bytes((TEMPLATES / "chatml.jinja").read_bytes())
    NGRAMS.write_bytes(count_ngrams(Tokenizer.from_file(str(TOKENIZER)), paragraphs))


if __name__ == "__main__":
    main()
