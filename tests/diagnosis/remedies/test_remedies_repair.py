from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmdebug.diagnosis.remedies.repair import repaired

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1,}', {"a": 1}),
        ("{'a': 'it\\'s', 'b': True, 'c': None}", {"a": "it's", "b": True, "c": None}),
        ("{'a': 'say \"hi\"'}", {"a": 'say "hi"'}),
        ("{a: 1, b: [1 2], // why\n c: NaN}", {"a": 1, "b": [1, 2], "c": None}),
        ('{"city": "Oxford" "unit": "C"}', {"city": "Oxford", "unit": "C"}),
        ('{"said": "He said "hello" and left", "n": 1}', {"said": 'He said "hello" and left', "n": 1}),
        ('{"a": {"b": [1, 2', {"a": {"b": [1, 2]}}),
        ('{"a": "unfini', {"a": "unfini"}),
        ('{"a": 1, "model":', {"a": 1}),
        ('{"a": 1, "b"', {"a": 1}),
        ('{"path": "C:\\dir"}', {"path": "C:\\dir"}),
        ('{"a": .5, "b": 007, "c": 1., "d": +2}', {"a": 0.5, "b": 7, "c": 1.0, "d": 2}),
        ('{"a": "two\nlines"}', {"a": "two\nlines"}),
        ('```json\n{"a": 1}\n```', {"a": 1}),
        ('{"a": 1}}', {"a": 1}),
        ("\ufeff[1,]", [1]),
        ("[Infinity, 1e999]", [None, None]),
        ("plain words", None),
        ("", None),
        ("[" * 5_000, None),
    ],
)
def test_what_was_meant(text: str, value: object) -> None:
    assert repaired(text) == value


@given(VALUES)
def test_json_stays_as_it_is(value: object) -> None:
    assert repaired(json.dumps(value)) == value


@given(VALUES)
def test_python_literals_are_read(value: object) -> None:
    if isinstance(value, dict | list) and not _has_controls(value):
        assert repaired(repr(value)) == value


@given(st.text(alphabet="{}[]\"',:\\ab1 \n/#", max_size=80))
def test_nothing_raises_and_the_result_is_json(text: str) -> None:
    json.dumps(repaired(text), allow_nan=False)


@pytest.mark.parametrize("text", ['"' * 200_000, '{"a" ' * 40_000, "'\\" * 100_000, '" ' * 100_000, "/*" * 100_000])
def test_hostile_text_takes_linear_time(text: str) -> None:
    started = time.process_time()
    repaired(text)
    assert time.process_time() - started < 5


def _has_controls(value: object) -> bool:
    """Python writes these as escapes that JSON has not."""
    text = repr(value)
    return "\\x" in text or "\\U" in text or "\\'" in text or not text.isprintable()
