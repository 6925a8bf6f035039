"""Ids, texts and pieces are what transformers makes of them, for each kind of tokenizer."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from vocabularies import KINDS, byte_level, saved, unigram, with_holes

from llmdebug.tokens.tokenizer import Tokenizer, load
from llmdebug.tokens.values import TokenizerError

TEXTS = [
    "",
    " ",
    "Alice was beginning",
    "  two  spaces\n\tand more ",
    "wörld 你好 🎉",
    "<s>x</s>",
    "\0\x1b[31m",
    "a\u0301",
]
texts = st.text(alphabet=st.characters(codec="utf-8"), max_size=60)
kinds = pytest.mark.parametrize("kind", list(KINDS))


def loaded(place: Path) -> Tokenizer:
    return load(str(place), hub=False, progress=lambda what: None)


def refusal(name: Path | str) -> str:
    with pytest.raises(TokenizerError) as caught:
        load(str(name), hub=False, progress=lambda what: None)
    return str(caught.value)


@kinds
@pytest.mark.parametrize("special", [True, False])
def test_ids_and_texts_are_those_of_transformers(tokenizers: Mapping[str, Tokenizer], kind: str, special: bool) -> None:
    tokenizer = tokenizers[kind]

    @settings(max_examples=60)
    @given(texts)
    def hold(text: str) -> None:
        ids = tuple(tokenizer.loaded.encode(text, add_special_tokens=special))
        assert tokenizer.encode(text, special=special).cells.ids == ids
        back = tokenizer.loaded.decode(list(ids), skip_special_tokens=False, clean_up_tokenization_spaces=False)
        assert tokenizer.decode(ids).text == back

    hold()
    for text in TEXTS:
        hold.hypothesis.inner_test(text)  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", ["byte_level", "sentencepiece_like"])
def test_pieces_joined_are_the_text(tokenizers: Mapping[str, Tokenizer], kind: str) -> None:
    @settings(max_examples=80)
    @given(texts)
    def hold(text: str) -> None:
        joined = b"".join(tokenizers[kind].encode(text, special=False).cells.pieces)
        expected = text.encode()
        assert joined in (expected, b" " + expected)

    hold()


def test_a_byte_level_tokenizer_gives_back_every_text(tokenizers: Mapping[str, Tokenizer]) -> None:
    tokenizer = tokenizers["byte_level"]

    @settings(max_examples=80)
    @given(texts)
    def hold(text: str) -> None:
        assert tokenizer.encode(text, special=False).difference is None

    hold()


def test_the_first_difference_of_a_lossy_one_is_told(tokenizers: Mapping[str, Tokenizer]) -> None:
    difference = tokenizers["wordpiece"].encode("the Queen", special=False).difference
    assert difference is not None
    assert (difference.position, difference.before[0], difference.after[0]) == (4, "Q", "q")


@kinds
@given(ids=st.lists(st.one_of(st.integers(-5, 1200), st.integers()), max_size=40))
@settings(max_examples=40)
def test_ids_without_a_token_are_marked_at_their_positions(
    tokenizers: Mapping[str, Tokenizer], kind: str, ids: list[int]
) -> None:
    tokenizer = tokenizers[kind]
    known = set(tokenizer.loaded.get_vocab().values())
    reading = tokenizer.decode(ids)
    assert reading.cells.outside() == tuple(place for place, id_ in enumerate(ids) if id_ not in known)
    assert len(reading.cells.marks) == len(reading.cells.pieces) == len(ids)


@kinds
@given(data=st.data())
@settings(max_examples=80)
def test_the_text_of_any_ids_is_that_of_transformers(
    tokenizers: Mapping[str, Tokenizer], kind: str, data: st.DataObject
) -> None:
    """Broken UTF-8 among them, and U+FFFD that was sent; what the way back tells is so."""
    tokenizer = tokenizers[kind]
    known = sorted(tokenizer.loaded.get_vocab().values())
    wild = data.draw(st.lists(st.sampled_from(known), max_size=12))
    sent = tokenizer.loaded.encode(data.draw(st.sampled_from(["", "a \ufffd b", "\ufffd"])), add_special_tokens=False)
    ids = (*sent, *wild)
    reading = tokenizer.decode(ids)
    back = tokenizer.loaded.decode(list(ids), skip_special_tokens=False, clean_up_tokenization_spaces=False)
    assert reading.text == back
    again = tuple(tokenizer.loaded.encode(back, add_special_tokens=False))
    assert (reading.difference is None) == (again == ids)


def test_half_a_character_is_shown_as_its_bytes(tokenizers: Mapping[str, Tokenizer]) -> None:
    tokenizer = tokenizers["byte_level"]
    whole = tokenizer.encode("你", special=False).cells
    assert set(whole.marks) == {"p"}
    half = tokenizer.decode(whole.ids[:2])
    assert half.text == "\ufffd"
    assert half.cells.marks == "xx"
    assert half.difference is not None and half.difference.position == 0


def test_special_tokens_are_marked(tokenizers: Mapping[str, Tokenizer]) -> None:
    assert tokenizers["byte_level"].encode("<s>a", special=False).cells.marks == "st"
    assert tokenizers["wordpiece"].encode("the", special=True).cells.marks[0] == "s"


def test_holes_of_a_vocabulary_are_counted_and_out_of_it(tmp_path: Path) -> None:
    tokenizer = loaded(saved(with_holes(byte_level()), tmp_path / "holes"))
    vocabulary = tokenizer.vocabulary
    assert vocabulary.holes == 10
    assert tokenizer.decode([vocabulary.size - 1, vocabulary.size - 2, vocabulary.size]).cells.marks == "soo"


def test_rows_and_context_come_from_the_model_s_configuration(tmp_path: Path) -> None:
    folder = saved(byte_level(), tmp_path / "model")
    (folder / "config.json").write_text(json.dumps({"text_config": {"vocab_size": 640, "max_position_embeddings": 99}}))
    vocabulary = loaded(folder).vocabulary
    assert (vocabulary.rows, vocabulary.limit) == (640, 99)
    assert vocabulary.limit_from == "max_position_embeddings in config.json"


def test_numbers_that_count_nothing_are_left_out(tmp_path: Path) -> None:
    folder = saved(byte_level(), tmp_path / "model", model_max_length=10**40)
    (folder / "config.json").write_text(json.dumps({"vocab_size": 10**30, "max_position_embeddings": -5}))
    vocabulary = loaded(folder).vocabulary
    assert (vocabulary.rows, vocabulary.limit) == (None, None)


def test_a_limit_that_is_no_number_names_its_file(tmp_path: Path) -> None:
    folder = saved(byte_level(), tmp_path / "model", model_max_length="x")
    assert refusal(folder).startswith(f'{folder / "tokenizer_config.json"}: "model_max_length" is no number.')


def test_a_bare_file_is_enough(tmp_path: Path) -> None:
    tokenizer = unigram()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    assert loaded(tmp_path / "tokenizer.json").encode("Alice", special=False).cells.ids
    assert loaded(tmp_path).vocabulary.kind.startswith("Unigram")


def test_a_tokenizer_that_is_a_program_is_refused(tmp_path: Path) -> None:
    evil = tmp_path / "evil.py"
    folder = saved(
        byte_level(),
        tmp_path / "model",
        tokenizer_class="OwnTokenizer",
        auto_map={"AutoTokenizer": ["evil.OwnTokenizer", None]},
    )
    evil = folder / "evil.py"
    evil.write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nclass OwnTokenizer: ...\n")
    assert "llmdebug runs no code of a model" in refusal(folder)
    assert not (tmp_path / "ran").exists()


def test_what_is_no_tokenizer_is_a_sentence(tmp_path: Path) -> None:
    assert "there is no tokenizer in this folder" in refusal(tmp_path)
    (tmp_path / "model.gguf").write_bytes(b"GGUF")
    assert "GGUF" in refusal(tmp_path)
    assert "no such folder" in refusal(tmp_path / "nothing")
    assert "not in the local cache" in refusal("nobody/nothing-of-this-name")
    assert "A tokenizer is a folder" in refusal(" ")
    assert "neither a folder nor a file" in refusal("/dev/null")


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    with open(tmp_path / "tokenizer.json", "wb") as file:
        file.truncate(600_000_000)
    assert "are no tokenizer" in refusal(tmp_path)


@pytest.mark.parametrize("name", ["config.json", "chat_template.jinja", "tokenizer.json", "vocab.json"])
def test_a_pipe_among_the_files_is_not_opened(tmp_path: Path, name: str) -> None:
    folder = saved(byte_level(), tmp_path / "model")
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)
    assert refusal(folder).startswith(f"{folder / name}: this is no file but a pipe")


def test_half_a_surrogate_pair_is_a_sentence(tokenizers: Mapping[str, Tokenizer]) -> None:
    with pytest.raises(TokenizerError, match="Character 1 of the text is half a surrogate pair"):
        tokenizers["byte_level"].encode("a\ud800", special=False)
