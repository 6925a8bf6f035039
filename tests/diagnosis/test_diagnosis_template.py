"""Messages made by generated expressions are found again by the templates read from these expressions."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from llmdebug.diagnosis.template import Match, best_match, letters_in, without_wrappers
from llmdebug.index.facts import Rejection, Template
from llmdebug.index.python.extract import extract

words = st.text("abcdefghij KLMN.,:;'\"%{}()[]-_\n", min_size=1, max_size=14)
values = st.text("QRSTUVWXYZ0123456789/", min_size=1, max_size=8)


@dataclass(frozen=True)
class Made:
    """An expression, what its names stand for, and the message that it makes."""

    source: str
    names: dict[str, str]
    literals: tuple[str, ...]
    """Pieces around the values, first and last possibly empty."""

    @property
    def message(self) -> str:
        pieces = [self.literals[0]]
        for value, literal in zip(self.names.values(), self.literals[1:], strict=True):
            pieces += [value, literal]
        return "".join(pieces)


def as_fstring(literals: list[str], names: list[str]) -> str:
    """Over several lines, as long messages are written."""
    lines = [f"f{quoted(literal, braces=True)}" for literal in literals]
    holes = [f"f'{{{name}}}'" for name in names]
    rows = [lines[0]] + [part for pair in zip(holes, lines[1:], strict=True) for part in pair]
    return "(" + "\n        ".join(rows) + ")"


def quoted(text: str, braces: bool = False) -> str:
    return repr(text.replace("{", "{{").replace("}", "}}") if braces else text)


def as_percent(literals: list[str], names: list[str]) -> str:
    return repr("%s".join(piece.replace("%", "%%") for piece in literals)) + f" % ({''.join(n + ', ' for n in names)})"


def as_format(literals: list[str], names: list[str]) -> str:
    return quoted("\0".join(literals), braces=True).replace("\\x00", "{}") + f".format({', '.join(names)})"


def as_sum(literals: list[str], names: list[str]) -> str:
    made = repr(literals[0])
    for name, literal in zip(names, literals[1:], strict=True):
        made += f" + str({name}) + {literal!r}"
    return made


def as_joined(literals: list[str], names: list[str]) -> str:
    made = [repr(literals[0])]
    for name, literal in zip(names, literals[1:], strict=True):
        made += [name, repr(literal)]
    return f"''.join([{', '.join(made)}])"


STYLES = [as_fstring, as_percent, as_format, as_sum, as_joined]


@st.composite
def expressions(draw: st.DrawFn) -> Made:
    count = draw(st.integers(0, 4))
    inner = [draw(words) for _ in range(max(count - 1, 0))]
    literals = (
        [draw(st.one_of(st.just(""), words)), *inner, draw(st.one_of(st.just(""), words))] if count else [draw(words)]
    )
    place = draw(st.integers(0, len(literals) - 1))
    literals[place] = (
        draw(st.sampled_from(["limit exceeded: ", " is not admitted", "{x} can't be above 5%, "])) + literals[place]
    )
    names = {f"v{i}": draw(values) for i in range(count)}
    style = draw(st.sampled_from(STYLES if count else [as_fstring, as_sum]))
    return Made(style(literals, list(names)), names, tuple(literals))


def rejection(source: str, parameters: str = "") -> Rejection:
    module = f"def check({parameters}):\n    raise ValueError({source})\n"
    facts = extract("m.py", module.encode())
    assert not facts.problem, module
    return facts.rejections[0]


def matched(found: Rejection, text: str) -> Match | None:
    return best_match("m.py", found, text, letters_in(text))


@given(expressions())
@settings(max_examples=600, deadline=None)
def test_a_message_is_matched_by_the_template_that_made_it(made: Made) -> None:
    assert eval(made.source, dict(made.names)) == made.message
    found = rejection(made.source, ", ".join(made.names))
    match = matched(found, made.message)
    assert match is not None
    assert (match.start, match.end) == (0, len(made.message))
    assert match.captured == tuple(made.names.values())
    assert match.coverage == pytest.approx(1.0)


@given(expressions(), st.text("XYZ789", max_size=6), st.text("XYZ789", max_size=6))
@settings(max_examples=300, deadline=None)
def test_it_is_matched_inside_a_wrapper_too(made: Made, before: str, after: str) -> None:
    found = rejection(made.source, ", ".join(made.names))
    match = matched(found, before + made.message + after)
    assert match is not None
    assert match.captured[1:-1] == tuple(made.names.values())[1:-1]


@given(expressions(), st.data())
@settings(max_examples=400, deadline=None)
def test_it_is_never_matched_where_a_literal_is_absent(made: Made, data: st.DataObject) -> None:
    found = rejection(made.source, ", ".join(made.names))
    assume(found.templates)
    place = data.draw(st.integers(0, len(made.literals) - 1))
    literals = list(made.literals)
    assume(literals[place])
    literals[place] = data.draw(st.text("QRSTUVWXYZ", max_size=10))
    text = Made("", made.names, tuple(literals)).message
    assume(made.literals[place] not in text)
    assert matched(found, text) is None


@given(st.lists(st.one_of(st.none(), words), min_size=1, max_size=8), st.text(max_size=300))
@settings(max_examples=300, deadline=None)
def test_what_is_matched_holds_the_literals_in_order(parts: list[str | None], text: str) -> None:
    merged: list[str | None] = []
    for part in parts:
        if merged and part is None and merged[-1] is None:
            continue
        if merged and part is not None and merged[-1] is not None:
            merged[-1] += part
        else:
            merged.append(part)
    match = matched(Rejection(1, 1, "f", "raises", (Template(tuple(merged), ("",) * merged.count(None)),)), text)
    if match is None:
        return
    spans = iter(match.spans)
    remade = "".join(part if part is not None else text[slice(*next(spans))] for part in merged)
    assert remade == text[match.start : match.end]


class Counted(str):
    """A text that counts how often it is searched."""

    searches = 0

    def find(self, *arguments: object) -> int:
        Counted.searches += 1
        return super().find(*arguments)  # type: ignore[arg-type]


def test_hostile_text_costs_no_more_than_a_few_searches_a_part() -> None:
    parts = tuple(p for _ in range(300) for p in ("aaa ", None))
    template = Template((*parts, "end of it"), ("",) * 300)
    found = Rejection(1, 1, "f", "raises", (template,))
    text = Counted("aaa " * 4_000 + "end of it no")
    Counted.searches = 0
    best_match("m.py", found, text, letters_in(text))
    assert Counted.searches <= 8 * len(template.parts)


@pytest.mark.parametrize(
    ("code", "text", "captured"),
    [
        (
            "raise ValueError('at least ' + ('one' if n else 'two') + ' messages needed')",
            "at least two messages needed",
            (),
        ),
        ("m = f'{n} is too many messages'\n    raise ValueError(m)", "7 is too many messages", ("7",)),
        ("m = 'first half, '\n    m += 'second half'\n    raise ValueError(m)", "first half, second half", ()),
        ("raise ValueError('never %(what)s like %(how)s' % {'what': n, 'how': n})", "never A like B", ("A", "B")),
        ("raise ValueError('%5.2f percent of it all is gone' % n)", " 7.00 percent of it all is gone", (" 7.00",)),
        ("raise ValueError('{:>4} percent of it all'.format(n))", "   7 percent of it all", ("   7",)),
        ("raise ValueError(TEXT)", "a constant of the module", ()),
        ("raise ValueError(f'{PREFIX}: unknown {n}')", "Bad request: unknown 5", ("5",)),
        ("raise ValueError(_('translated message'))", "translated message", ()),
        ("raise ValueError('''multi\n  line message''')", "multi\n  line message", ()),
        ("raise ValueError('some message here'.strip())", "some message here", ()),
        ("raise ValueError('the names are: ' + ', '.join(names))", "the names are: a, b", ("a, b",)),
        ("raise ValueError(n or 'nothing was given')", "nothing was given", ()),
    ],
)  # fmt: skip
def test_ways_in_which_messages_are_written(code: str, text: str, captured: tuple[str, ...]) -> None:
    module = f"TEXT = 'a constant of the module'\nPREFIX = 'Bad request'\ndef f(n, names):\n    {code}\n"
    facts = extract("m.py", module.encode())
    match = matched(facts.rejections[-1], text)
    assert match is not None and match.coverage == pytest.approx(1.0), facts.rejections
    assert match.captured == captured


def test_a_wrapper_loses_to_what_it_wraps() -> None:
    inner, outer = rejection("'temperature must be positive'"), rejection("f'Failed to parse request: {e}'", "e")
    text = "Failed to parse request: temperature must be positive"
    found = [m for m in (matched(outer, text), matched(inner, text)) if m is not None]
    speaking, wrapping = without_wrappers(found, text)
    assert [m.rejection for m in speaking] == [inner]
    assert [m.rejection for m in wrapping] == [outer]
