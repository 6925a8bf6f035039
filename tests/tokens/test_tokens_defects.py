"""A tokenizer that cannot be loaded: the file, what is wrong in it, and what to do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from vocabularies import byte_level, saved

from llmdebug.tokens.tokenizer import WHAT_TO_DO, load
from llmdebug.tokens.values import TokenizerError

WORDS_OF_CODE = ("Error", "Exception", "enum", "codec", "literal", "attribute")

SENTENCEPIECE_MODEL = b"\n\x0e\n\x05<unk>\x15\0\0\0\0\x18\x02\n\x0c\n\x03<s>\x15\0\0\0\0\x18\x03"
"""How one begins: its first two pieces."""


def refusal(place: Path) -> str:
    with pytest.raises(TokenizerError) as caught:
        load(str(place), hub=False, progress=lambda what: None)
    return str(caught.value)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return saved(byte_level(), tmp_path / "model")


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("tokenizer.json", b"", "it is empty"),
        ("tokenizer.json", b"\xff\xfe", "it cannot be read as JSON: line 1, column 1: Byte 0 (0xFF) is not UTF-8"),
        ("tokenizer.json", b'{"model": ' + b"[" * 5000, "it cannot be read as JSON: line 1, column"),
        ("tokenizer.json", b"{}", 'its part "model" is missing'),
        ("tokenizer.json", b'{"model": {}}', 'its part "added_tokens" is missing'),
        ("tokenizer.json", b"version https://git-lfs.github.com/spec/v1\noid sha256:1\n", "a pointer of Git LFS"),
        ("tokenizer_config.json", b"[]", "it holds a list where an object is expected"),
        ("tokenizer_config.json", b"{", "it cannot be read as JSON: line 1, column 2"),
        ("tokenizer_config.json", b'{"tokenizer_class": 5}', '"tokenizer_class" is a number; it would be a text'),
        ("tokenizer_config.json", b'{"bos_token": 5}', '"bos_token" is a number; it would be a text or an object'),
        ("tokenizer_config.json", b'{"chat_template": [{"x": 1}]}', '"chat_template" 0 is not an object with a name'),
        ("tokenizer_config.json", b'{"added_tokens_decoder": {"x": {"content": "a"}}}', '"x", which is no id'),
        ("special_tokens_map.json", b'{"bos_token": [1]}', '"bos_token" is a list'),
        ("added_tokens.json", b"{", "it cannot be read as JSON"),
        ("config.json", b'{"a":', "it cannot be read as JSON"),
        ("chat_template.jinja", b"ab\xff", "it is no UTF-8: byte 2 is none of it"),
    ],
)
def test_the_file_and_its_defect_are_told_in_plain_words(folder: Path, name: str, content: bytes, told: str) -> None:
    (folder / name).write_bytes(content)
    said = refusal(folder)
    assert said.startswith(f"{folder / name}: ") and told in said
    assert said.endswith(f". {WHAT_TO_DO}") and ".." not in said
    assert not any(word in said for word in WORDS_OF_CODE)


@pytest.mark.parametrize(
    ("part", "value", "told"),
    [
        ("model", {"type": "Foo", "vocab": {}}, 'its part "model" of type "Foo" is none that tokenizers '),
        ("pre_tokenizer", {"type": "NewThing"}, 'its part "pre_tokenizer" of type "NewThing" is none that'),
        ("decoder", 5, 'its part "decoder" is none that tokenizers '),
        ("added_tokens", [{"id": 1}], "reads, which says: missing field `content`"),
        (
            "model",
            {"type": "BPE", "vocab": {"a": 0}, "merges": [["z", "q"]]},
            "which says: Token `z` out of vocabulary",
        ),
        ("model", {"type": "BPE", "vocab": {"a": -1}, "merges": []}, "which says: invalid value: integer `-1`"),
    ],
)
@pytest.mark.parametrize("bare", [True, False])
def test_the_part_that_cannot_be_read_is_found(folder: Path, part: str, value: Any, told: str, bare: bool) -> None:
    file = folder / "tokenizer.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), part: value}))
    if bare:
        (folder / "tokenizer_config.json").unlink()
    said = refusal(file if bare else folder)
    assert said.startswith(f'{file}: its part "{part}"') and told in said
    assert "enum" not in said


def test_a_folder_without_a_vocabulary_says_so(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "tokenizer.json").unlink()
    assert f"{folder}: there is tokenizer_config.json, but no tokenizer.json" in refusal(folder)
    (folder / "tokenizer.json").mkdir()
    assert f"{folder}: there is tokenizer_config.json, but no tokenizer.json" in refusal(folder)
    (folder / "tokenizer.json").rmdir()
    (folder / "tokenizer.model").write_bytes(b"no such thing")
    assert "needs the package" in refusal(folder)
    (folder / "tokenizer.model").write_bytes(SENTENCEPIECE_MODEL)
    monkeypatch.setattr("llmdebug.tokens.tokenizer.find_spec", lambda module: None)
    assert "needs the packages sentencepiece and protobuf: install them" in refusal(folder)


def test_what_only_the_library_knows_is_quoted_as_its_words(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "GPT2Tokenizer"}')
    (folder / "vocab.json").write_text('{"a": 0}')
    assert f"{folder}: each of its files can be read, but transformers " in refusal(folder)
