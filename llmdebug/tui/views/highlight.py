"""Colours for one line of JSON, HTTP or Python: one regular expression a visible line."""

from __future__ import annotations

import re

from llmdebug.tui.views.rows import Row, Span

_JSON = re.compile(
    r'(?P<key>"[^"\\]*+(?:\\.[^"\\]*+)*+"(?=\s*:))|(?P<string>"[^"\\]*+(?:\\.[^"\\]*+)*+"?)'
    r"|(?P<literal>\b(?:true|false|null|NaN|Infinity)\b)|(?P<number>-?\b\d[\d.eE+-]*)|(?P<punct>[{}\[\]:,]+)"
)
_PYTHON = re.compile(
    r"(?P<dim>#.*)|(?P<string>[rbfRBF]{0,2}(?:'[^'\\]*+(?:\\.[^'\\]*+)*+'?|\"[^\"\\]*+(?:\\.[^\"\\]*+)*+\"?))"
    r"|(?P<keyword>\b(?:and|as|assert|async|await|break|class|continue|def|del|elif|else|except|finally|for|from"
    r"|global|if|import|in|is|lambda|nonlocal|not|or|pass|raise|return|try|while|with|yield|self)\b)"
    r"|(?P<literal>\b(?:True|False|None)\b)|(?P<number>\b\d[\w.]*)|(?P<key>@[\w.]+|\b[A-Z]\w+)"
)
_HTTP = re.compile(r"(?P<key>^[!#$%&'*+.^_`|~\w-]+)(?P<punct>:)")


def json_row(line: str) -> Row:
    """A line of JSON; the line is cleaned already."""
    return _row(_JSON, line)


def python_row(line: str) -> Row:
    """A line of source code."""
    return _row(_PYTHON, line)


def header_row(line: str) -> Row:
    """A header, `Name: value`."""
    return _row(_HTTP, line)


def _row(pattern: re.Pattern[str], line: str) -> Row:
    spans: list[Span] = []
    end = 0
    for match in pattern.finditer(line):
        if match.start() > end:
            spans.append(Span(line[end : match.start()]))
        spans.append(Span(match[0], match.lastgroup or "text"))
        end = match.end()
    if end < len(line):
        spans.append(Span(line[end:]))
    return tuple(spans)
