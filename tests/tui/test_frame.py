"""What the terminal shows is the same, whether all of the output reaches it or only what changes."""

from __future__ import annotations

import pyte
from hypothesis import given, settings
from hypothesis import strategies as st

from llmdebug.tui.frame import Frame

COLUMNS, ROWS = 100, 6
"""Wide enough that no run reaches the margin: the compositor writes none that does."""

texts = st.text(st.sampled_from("ab  é\u0301"), min_size=1, max_size=8)
pens = st.sampled_from(
    [
        "\x1b[1;38;2;1;2;3;48;2;9;9;9m",
        "\x1b[31;40m",
        "\x1b[1;4m",
        "\x1b[7;38;5;3m",
        "\x1b[2;3m",
        "\x1b[48;5;20m",
        "\x1b[95;105m",
    ]
)
pieces = st.one_of(
    st.tuples(st.integers(1, ROWS), st.integers(1, 8)).map(lambda at: f"\x1b[{at[0]};{at[1]}H"),
    st.tuples(pens, texts).map(lambda run: f"{run[0]}{run[1]}\x1b[0m"),
    texts,
    st.integers(1, ROWS - 1).map(lambda row: f"\x1b[{row};3Hab\r\n"),
)


def shown(writes: list[str]) -> list[list[tuple[object, ...]]]:
    screen = pyte.Screen(COLUMNS, ROWS)
    screen.reset_mode(7 << 5)
    stream = pyte.Stream(screen)
    for data in writes:
        stream.feed(data)
    cells = [[screen.buffer[y][x] for x in range(COLUMNS)] for y in range(ROWS)]
    return [[(c.data, c.fg, c.bg, c.bold, c.italics, c.underscore, c.reverse) for c in row] for row in cells]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.lists(pieces, max_size=10).map(lambda parts: "\x1b[1;1H" + "".join(parts)), max_size=8))
def test_the_terminal_shows_the_same(frames: list[str]) -> None:
    frame = Frame()
    assert shown([frame.reduced(data) for data in frames]) == shown(frames)


def test_an_unchanged_frame_costs_a_few_bytes() -> None:
    frame = Frame()
    data = "\x1b[1;1H\x1b[31mhello world\x1b[0m\r\n\x1b[32mgreen\x1b[0m\x1b[1;1H"
    frame.reduced(data)
    assert frame.reduced(data) == ""


def test_only_the_changed_letters_of_a_run_are_sent() -> None:
    frame = Frame()
    frame.reduced("\x1b[3;1Hcount 1 of 9\x1b[1;1H")
    assert frame.reduced("\x1b[3;1Hcount 2 of 9\x1b[1;1H") == "\x1b[3;7H2\x1b[1;1H"


def test_a_changed_colour_is_sent() -> None:
    frame = Frame()
    frame.reduced("\x1b[1;1H\x1b[31mab\x1b[0m")
    assert "ab" in frame.reduced("\x1b[1;1H\x1b[32mab\x1b[0m")


def test_half_of_a_wide_letter_is_written_again() -> None:
    frame = Frame()
    frame.reduced("\x1b[1;1H日本\x1b[1;1H")
    assert "日本" in frame.reduced("\x1b[1;1H日本\x1b[1;1H"), "terminals disagree on such rows: they are whole"


def test_other_sequences_pass_and_a_new_screen_is_unknown() -> None:
    frame = Frame()
    frame.reduced("\x1b[1;1Hab")
    assert frame.reduced("\x1b[?2026h\x1b]52;c;YQ==\x07") == "\x1b[?2026h\x1b]52;c;YQ==\x07"
    frame.reduced("\x1b[?1049h")
    assert "ab" in frame.reduced("\x1b[1;1Hab")
