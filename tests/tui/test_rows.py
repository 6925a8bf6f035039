"""Rows are cut and wrapped without losing a letter."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from llmdebug.tui.views.brokenrows import BrokenRows
from llmdebug.tui.views.lines import Lines
from llmdebug.tui.views.rows import FixedRows, Span, Stacked, plain, safe, wrap
from llmdebug.tui.views.safetext import clean, width

spans = st.lists(st.builds(lambda t: Span(clean(t)), st.text(st.sampled_from("ab 日-é"), max_size=30)), max_size=5)


@given(spans, st.integers(4, 40), st.integers(0, 8))
def test_wrapped_rows_fit_and_keep_every_letter(row: list[Span], cells: int, hang: int) -> None:
    rows = wrap(tuple(row), cells, hang)
    assert all(width(plain(piece)) <= cells for piece in rows)
    assert "".join(map(plain, rows)).replace(" ", "") == plain(tuple(row)).replace(" ", "")


def test_a_row_is_broken_at_spaces() -> None:
    rows = wrap((Span("the quick brown fox"),), 11, 2)
    assert [plain(row) for row in rows] == ["the quick", "  brown fox"]


def test_search_goes_round_and_minds_capitals_only_where_typed() -> None:
    rows = FixedRows([(Span("One"),), (Span("two"),), (Span("one"),)])
    assert rows.find("one", 0, 1) == 2
    assert rows.find("one", 2, 1) == 0
    assert rows.find("One", 0, 1) == 0
    assert rows.find("one", 0, -1) == 2
    assert rows.find("three", 0, 1) is None


@given(st.text(alphabet="ab 日é\u0301\t", max_size=400), st.integers(4, 30))
def test_wrapping_loses_no_letter(text: str, cells: int) -> None:
    rows = wrap((Span(text),), cells)
    assert "".join(plain(row) for row in rows).replace(" ", "") == text.replace(" ", "")
    assert all(width(plain(row)) <= cells for row in rows)


@given(st.text(alphabet="ab 日é\n", max_size=400), st.integers(4, 30), st.sampled_from(["a", "b ", "日", "é"]))
def test_broken_rows_lose_no_letter_and_are_found(text: str, cells: int, needle: str) -> None:
    rows = BrokenRows(Lines(text.encode()), cells)
    shown = [plain(rows.row(index)) for index in range(len(rows))]
    assert "".join(shown) == text.replace("\n", "")
    assert all(width(row) <= cells for row in shown)
    found = rows.find(needle, 0, 1)
    assert (found is not None) == (needle in text)
    if found is not None:
        assert needle[0] in shown[found]
        assert rows.find(needle, found, -1) is not None


def test_parts_are_searched_one_after_the_other() -> None:
    parts = Stacked([FixedRows([safe("a"), safe("hit")]), BrokenRows(Lines(b"xxhit" * 4), 5), FixedRows([safe("hit")])])
    forward = [parts.find("hit", start, 1) for start in range(len(parts))]
    assert forward == [1, 2, 3, 4, 5, 6, 1]
    assert [parts.find("hit", start, -1) for start in range(len(parts))] == [6, 6, 1, 2, 3, 4, 5]
