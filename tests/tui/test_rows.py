"""Rows are cut and wrapped without losing a letter."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from llmdebug.tui.views.rows import FixedRows, Span, plain, wrap
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
