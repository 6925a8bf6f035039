"""How serde spells the names of fields and variants."""

from __future__ import annotations

import re


def renamed(name: str, rule: str, *, is_variant: bool = False) -> str:
    """A name under a `rename_all` rule; as it is under one that nobody knows."""
    snake = re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower() if is_variant else name
    words = snake.split("_")
    pascal = name if is_variant else "".join(word[:1].upper() + word[1:] for word in words)
    spellings = {
        "lowercase": name.lower(),
        "UPPERCASE": name.upper(),
        "PascalCase": pascal,
        "camelCase": pascal[:1].lower() + pascal[1:],
        "snake_case": snake,
        "SCREAMING_SNAKE_CASE": snake.upper(),
        "kebab-case": snake.replace("_", "-"),
        "SCREAMING-KEBAB-CASE": snake.upper().replace("_", "-"),
    }
    return spellings.get(rule, name)
