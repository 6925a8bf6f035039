"""Single values held against types and bounds, with pydantic's names for what is wrong with them."""

from __future__ import annotations

import math
import re
from typing import Any

MAX_PATTERN = 200

TRUE_TEXTS = frozenset({"true", "t", "yes", "y", "on", "1"})
BOOL_TEXTS = TRUE_TEXTS | {"false", "f", "no", "n", "off", "0"}


def scalar_problem(name: str, value: Any, strict: bool = False) -> str:
    """pydantic's name for why a value is no str, int, float, bool or none; empty where it is."""
    if name == "none":
        return "" if value is None else "none_required"
    if name == "str":
        return "" if isinstance(value, str) else "string_type"
    if name == "file":
        return ""
    if strict:
        kinds = {"int": int, "float": (int, float), "bool": bool}
        bad = isinstance(value, bool) != (name == "bool") or not isinstance(value, kinds[name])  # type: ignore[arg-type]
        return f"{name}_type" if bad else ""
    if name == "bool":
        return _bool_problem(value)
    if isinstance(value, str):
        return _number_text_problem(name, value)
    if not isinstance(value, int | float):
        return f"{name}_type"
    if name == "int" and isinstance(value, float):
        if not math.isfinite(value):
            return "finite_number"
        return "" if value.is_integer() else "int_from_float"
    return ""


def _bool_problem(value: Any) -> str:
    if isinstance(value, bool):
        return ""
    if isinstance(value, str):
        return "" if value.strip().lower() in BOOL_TEXTS else "bool_parsing"
    if isinstance(value, int | float):
        if value in (0, 1):
            return ""
        return "bool_parsing" if isinstance(value, int) or value.is_integer() else "bool_type"
    return "bool_type"


def _number_text_problem(name: str, value: str) -> str:
    text = value.strip()
    try:
        if name == "int":
            whole, _, fraction = text.partition(".")
            int(whole)
            if fraction.strip("0") or ("." in text and not fraction):
                return "int_parsing"
        else:
            float(text)
    except ValueError:
        return f"{name}_parsing"
    return ""


def bound_problem(name: str, bound: object, value: Any) -> str:
    """pydantic's name for a bound that a value of the right type breaks; empty where it keeps it."""
    number = value
    if isinstance(value, str) and name in {"ge", "gt", "le", "lt", "multiple_of"}:
        try:
            number = float(value)
        except ValueError:
            return ""
    if isinstance(number, int | float) and isinstance(bound, int | float):
        broken = {
            "ge": ("greater_than_equal", not number >= bound),
            "gt": ("greater_than", not number > bound),
            "le": ("less_than_equal", not number <= bound),
            "lt": ("less_than", not number < bound),
        }.get(name)
        if broken:
            return broken[0] if broken[1] else ""
        if name == "multiple_of" and bound:
            return "multiple_of" if number % bound else ""
    if isinstance(value, str | list | dict) and isinstance(bound, int):
        text = isinstance(value, str)
        if name in {"min_length", "min_items"} and len(value) < bound:
            return "string_too_short" if text else "too_short"
        if name in {"max_length", "max_items"} and len(value) > bound:
            return "string_too_long" if text else "too_long"
    if name in {"pattern", "regex"} and isinstance(value, str) and isinstance(bound, str):
        return _pattern_problem(bound, value)
    return ""


def _pattern_problem(pattern: str, value: str) -> str:
    if len(pattern) > MAX_PATTERN or len(value) > 1_000 or re.search(r"[*+}]\)?[*+{]", pattern):
        return ""
    try:
        return "" if re.search(pattern, value) else "string_pattern_mismatch"
    except re.error:
        return ""
