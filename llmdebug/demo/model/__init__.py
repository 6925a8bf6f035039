"""The demo's language model, as files: a tokenizer and a table of word-piece trigrams.

Both come out of `corpus.txt` (Lewis Carroll, Alice's Adventures in Wonderland, 1865, in the
public domain; one paragraph a line) by `python -m llmdebug.demo.model.build`.
"""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent
CORPUS = FOLDER / "corpus.txt"
TOKENIZER = FOLDER / "tokenizer.json"
NGRAMS = FOLDER / "ngrams.bin"
