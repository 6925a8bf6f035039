"""No character of a stranger steers the terminal."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from llmdebug.tui.views.safetext import clean, cut, harmless_letters, shorten, shorten_middle, width

anything = st.text(st.characters(exclude_categories=()), max_size=80)


@given(anything)
def test_nothing_harmful_is_left(text: str) -> None:
    shown = clean(text)
    assert all(unicodedata.category(letter) not in ("Cc", "Cs", "Zl", "Zp") for letter in shown)
    assert not set(shown) & set("\u202a\u202b\u202d\u202e\u2066\u2067\u2068\u200b\u200e\u200f\ufeff\x9b")


@given(anything)
def test_the_editor_keeps_every_column(text: str) -> None:
    shown = harmless_letters(text)
    assert len(shown) == len(text)
    assert "\x1b" not in shown


@given(anything, st.integers(0, 30))
def test_cut_and_shortened_texts_fit(text: str, cells: int) -> None:
    shown = clean(text)
    assert width(cut(shown, cells)) <= cells
    assert width(shorten(shown, cells)) <= cells
    assert width(shorten_middle(shown, cells)) <= cells


def test_pictures() -> None:
    assert clean("a\x1b[31m\x00b") == "a␛[31m␀b"
    assert clean("\x9b31m") == "<U+009B>31m"
    assert clean("\u202eevil") == "<U+202E>evil"
    assert clean("a\tb") == "a   b"
    assert clean("e" + "\u0301" * 40) == "e" + "\u0301" * 4
