"""What goes to the terminal, reduced to what the terminal does not show yet.

Textual paints whole widgets and whole screens again; over SSH each byte counts. This keeps a picture of the
terminal's cells and lets through only cells that change, with no more cursor moves and colour changes than
they need. It understands what Textual's compositor writes (cursor positions, colours, text, line ends) and
passes on everything else untouched.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from rich.cells import cell_len

_TOKEN = re.compile(
    r"\x1b\[(?P<row>\d+);(?P<column>\d+)H"
    r"|\x1b\[(?P<colours>[\d;]*)m"
    r"|(?P<line>\r?\n)"
    r"|(?P<screen>\x1b\[\?1049[hl]|\x1b\[[0-3]?J)"
    r"|(?P<other>\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b\[[\d;?<>=!$ ]*[@-~]|\x1b[^\[\]]|[\x00-\x09\x0b\x0c\x0e-\x1a])"
    r"|(?P<text>[^\x00-\x1f]+)"
)
_OFF = {"1": "22", "2": "22", "3": "23", "4": "24", "5": "25", "7": "27", "8": "28", "9": "29"}


class Pen(NamedTuple):
    """Colours and attributes, as the terminal is told them."""

    attributes: frozenset[str] = frozenset()
    foreground: str = ""
    background: str = ""


PLAIN = Pen()


class Frame:
    """The terminal as it is known to be. Rows and columns are from 0."""

    def __init__(self) -> None:
        self._letters: list[list[str | None]] = []
        self._pens: list[list[Pen | None]] = []
        self._uneven: set[int] = set()
        """Rows with letters whose width terminals disagree on: they are never left out."""
        self._pen: Pen | None = None
        """What the terminal has; None where that is not known."""
        self._at: tuple[int, int] | None = None
        """Where its cursor is."""

    def forget(self) -> None:
        """Somebody else wrote, or the terminal has another size: nothing is known of it any more."""
        self._letters, self._pens = [], []
        self._uneven.clear()
        self._pen = self._at = None

    def reduced(self, data: str) -> str:
        """What must be written for the terminal to show what `data` would make it show."""
        out: list[str] = []
        wanted = PLAIN
        row, column = self._at if self._at is not None else (0, 0)
        moved = self._at is None
        for match in _TOKEN.finditer(data):
            kind = match.lastgroup
            if kind == "text":
                row, column = self._text(match["text"], row, column, wanted, out)
                moved = False
            elif kind == "colours":
                wanted = _pen(match["colours"], wanted)
            elif kind == "column":
                row, column, moved = int(match["row"]) - 1, int(match["column"]) - 1, True
            elif kind == "line":
                row, column, moved = row + 1, 0, True
            else:
                if kind == "screen":
                    self.forget()
                out.append(match[0])
        if moved and (row, column) != self._at:
            out.append(f"\x1b[{row + 1};{column + 1}H")
            self._at = (row, column)
        return "".join(out)

    def _text(self, text: str, row: int, column: int, pen: Pen, out: list[str]) -> tuple[int, int]:
        """Writes what is new of a run of text; gives the place behind it."""
        cells = list(text) if text.isascii() else _cells(text)
        end = column + len(cells)
        letters, pens = self._row(row, end)
        if sum(map(len, cells)) != len(text) or any(len(cell) != 1 for cell in cells):
            self._uneven.add(row)
        first, last = 0, len(cells)
        if row not in self._uneven:
            now = zip(cells, letters[column:end], pens[column:end], strict=True)
            differs = [letter != old or old_pen != pen for letter, old, old_pen in now]
            if True not in differs:
                return row, end
            first = differs.index(True)
            last = len(cells) - differs[::-1].index(True)
        self._break_wide(letters, column, end)
        letters[column:end], pens[column:end] = cells, [pen] * len(cells)
        self._go(row, column + first, out)
        self._take(pen, out)
        out.append(text if row in self._uneven else "".join(cells[first:last]))
        self._at = (row, column + last) if row not in self._uneven else None
        return row, end

    def _row(self, row: int, length: int) -> tuple[list[str | None], list[Pen | None]]:
        while len(self._letters) <= row:
            self._letters.append([])
            self._pens.append([])
        letters, pens = self._letters[row], self._pens[row]
        missing = length - len(letters)
        if missing > 0:
            letters.extend([None] * missing)
            pens.extend([None] * missing)
        return letters, pens

    @staticmethod
    def _break_wide(letters: list[str | None], start: int, end: int) -> None:
        """The other half of a wide letter that is written over is no longer known."""
        if 0 < start < len(letters) and letters[start] == "":
            letters[start - 1] = None
        if end < len(letters) and letters[end] == "":
            letters[end] = None

    def _go(self, row: int, column: int, out: list[str]) -> None:
        if self._at == (row, column):
            return
        if self._at is not None and self._at[0] == row and column > self._at[1]:
            out.append(f"\x1b[{column - self._at[1]}C")
        else:
            out.append(f"\x1b[{row + 1};{column + 1}H")
        self._at = (row, column)

    def _take(self, pen: Pen, out: list[str]) -> None:
        if pen != self._pen:
            out.append(_change(self._pen, pen))
            self._pen = pen


def _cells(text: str) -> list[str]:
    """One entry a cell; of a wide letter the second is empty, combining ones stay with their letter."""
    cells: list[str] = []
    for letter in text:
        width = cell_len(letter)
        if width == 0 and cells:
            place = len(cells) - 1
            while place > 0 and cells[place] == "":
                place -= 1
            cells[place] += letter
        elif width:
            cells.append(letter)
            cells.extend([""] * (width - 1))
    return cells


@lru_cache(maxsize=4096)
def _pen(parameters: str, before: Pen) -> Pen:
    """The pen after a colour sequence."""
    attributes, foreground, background = set(before.attributes), before.foreground, before.background
    codes = parameters.split(";") if parameters else ["0"]
    while codes:
        code = codes.pop(0)
        if code in ("", "0"):
            attributes, foreground, background = set(), "", ""
        elif code in ("38", "48"):
            count = 4 if codes[:1] == ["2"] else 2
            colour, codes = ";".join([code, *codes[:count]]), codes[count:]
            foreground, background = (colour, background) if code == "38" else (foreground, colour)
        elif code == "39":
            foreground = ""
        elif code == "49":
            background = ""
        elif code.startswith(("3", "9")) and len(code) == 2:
            foreground = code
        elif code.startswith(("4", "10")) and len(code) in (2, 3):
            background = code
        elif code in _OFF:
            attributes.add(code)
    return Pen(frozenset(attributes), foreground, background)


@lru_cache(maxsize=4096)
def _change(old: Pen | None, new: Pen) -> str:
    """The shortest sequence that makes one pen of another."""
    whole = [*sorted(new.attributes), *(code for code in (new.foreground, new.background) if code)]
    reset = "\x1b[" + ";".join(["0", *whole]) + "m" if whole else "\x1b[m"
    if old is None:
        return reset
    codes: list[str] = []
    off = {_OFF[code] for code in old.attributes - new.attributes}
    codes += sorted(off)
    codes += sorted(code for code in new.attributes if code not in old.attributes or _OFF[code] in off)
    if new.foreground != old.foreground:
        codes.append(new.foreground or "39")
    if new.background != old.background:
        codes.append(new.background or "49")
    change = "\x1b[" + ";".join(codes) + "m"
    return change if len(change) <= len(reset) else reset
