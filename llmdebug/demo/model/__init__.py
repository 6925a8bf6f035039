"""The demo's language model, as files: a tokenizer and a table of word-piece trigrams.

The folder is what transformers reads too: beside `tokenizer.json` it holds its configuration and the server's chat
template. All come out of `corpus.txt` (Lewis Carroll, Alice's Adventures in Wonderland, 1865, in the
public domain; one paragraph a line) by `python -m llmdebug.demo.model.build`.
"""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent
CORPUS = FOLDER / "corpus.txt"
TOKENIZER = FOLDER / "tokenizer.json"
TOKENIZER_CONFIG = FOLDER / "tokenizer_config.json"
CHAT_TEMPLATE = FOLDER / "chat_template.jinja"
"""The server's own, copied."""
NGRAMS = FOLDER / "ngrams.bin"
