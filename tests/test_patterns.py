"""Every regular expression of the package is one that all supported Pythons read alike."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from re import _constants, _parser  # type: ignore[attr-defined]
from typing import Any

import pytest

import llmdebug

FIXED = {_constants.POSSESSIVE_REPEAT, _constants.ATOMIC_GROUP}
CHOOSING = {_constants.BRANCH, _constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.ASSERT_NOT, _constants.ASSERT}


def patterns() -> list[tuple[str, re.Pattern[Any]]]:
    found = []
    for module in pkgutil.walk_packages(llmdebug.__path__, "llmdebug."):
        if not module.name.endswith("__main__"):
            for name, value in vars(importlib.import_module(module.name)).items():
                if isinstance(value, re.Pattern):
                    found.append((f"{module.name}.{name}", value))
    return found


def operations(parsed: Any) -> Iterator[tuple[Any, Any]]:
    for operation, argument in parsed:
        yield operation, argument
        for inner in argument if isinstance(argument, tuple | list) else (argument,):
            for part in inner if isinstance(inner, list) else (inner,):
                if isinstance(part, _parser.SubPattern):
                    yield from operations(part)


def test_nothing_that_may_be_read_in_two_ways_is_repeated_possessively() -> None:
    """Before 3.11.5, such a repeat does not match what it should (python/cpython#106052)."""
    found = patterns()
    assert len(found) > 100
    for name, pattern in found:
        for operation, argument in operations(_parser.parse(pattern.pattern, pattern.flags)):
            if operation in FIXED:
                inside = argument[-1] if isinstance(argument, tuple) else argument
                assert not {inner for inner, _ in operations(inside)} & CHOOSING, name


@pytest.mark.parametrize(("text", "risky"), [(r"(?:a|\\.)*+", True), (r"(?:a[bc]*+)*+", False), (r"(?>a*)", True)])
def test_such_repeats_are_seen(text: str, risky: bool) -> None:
    inside = [
        {inner for inner, _ in operations(argument[-1] if isinstance(argument, tuple) else argument)}
        for operation, argument in operations(_parser.parse(text))
        if operation in FIXED
    ]
    assert any(found & CHOOSING for found in inside) is risky
