"""Shipped themes are complete and legible; a bad one is a message."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.color import Color

from llmdebug.tui.theme import (
    AA,
    ROLES,
    Theme,
    ThemeError,
    chosen_theme,
    contrast,
    load_theme,
    parse_theme,
    shipped_folder,
    theme_files,
    theme_for_terminal,
)

FILES = theme_files(None)
SHIPPED = ("ansi16", "colour-blind", "dark", "high-contrast", "light", "monochrome")
AAA = 7.0


def contrast_of(theme: Theme, role: str, behind: str | None = None) -> float:
    style = theme.style(role) if behind is None else theme.on_background(role, behind)
    return contrast(style.color, style.bgcolor)


def test_contrast_is_reckoned_as_wcag_does() -> None:
    assert contrast(Color.parse("#000000"), Color.parse("#ffffff")) == pytest.approx(21)
    assert contrast(Color.parse("#777777"), Color.parse("#ffffff")) == pytest.approx(4.48, abs=0.01)


def test_the_shipped_themes() -> None:
    assert set(SHIPPED) <= set(FILES)
    assert all(load_theme(name, FILES).name == name for name in SHIPPED)


@pytest.mark.parametrize("name", ["dark", "light", "colour-blind", "high-contrast"])
def test_text_is_legible(name: str) -> None:
    theme = load_theme(name, FILES)
    needed = AAA if name == "high-contrast" else AA
    assert {role: round(contrast_of(theme, role), 2) for role in ROLES if contrast_of(theme, role) < needed} == {}


@pytest.mark.parametrize("name", ["dark", "light", "colour-blind", "high-contrast"])
def test_coloured_words_stay_legible_in_titles_and_under_the_cursor(name: str) -> None:
    theme = load_theme(name, FILES)
    shown = {
        "bar": ("text", "bar_key", "error", "warning", "ok"),
        "title": ("text", "dim", "ok", "warning", "error", "accent", "strong"),
        "cursor": (
            "text",
            "dim",
            "key",
            "string",
            "number",
            "literal",
            "punct",
            "accent",
            "error",
            "warning",
            "strong",
            "keyword",
        ),
    }
    weak = {
        (behind, role): round(contrast_of(theme, role, behind), 2)
        for behind, roles in shown.items()
        for role in roles
        if contrast_of(theme, role, behind) < AA
    }
    assert weak == {}


@pytest.mark.parametrize("name", ["ansi16", "monochrome"])
def test_terminal_colours_only(name: str) -> None:
    theme = load_theme(name, FILES)
    for role in ROLES:
        style = theme.style(role)
        assert all(c is None or c.is_default or (c.number or 0) < 16 for c in (style.color, style.bgcolor))


def test_monochrome_has_no_colour() -> None:
    theme = load_theme("monochrome", FILES)
    assert all(theme.style(role).color == Color.default() for role in ROLES)


@pytest.mark.parametrize(
    ("environment", "name"),
    [
        ({"NO_COLOR": "1", "TERM": "xterm-256color"}, "monochrome"),
        ({"TERM": "screen"}, "ansi16"),
        ({"TERM": "linux"}, "ansi16"),
        ({"TERM": "vt100"}, "monochrome"),
        ({"TERM": "xterm-256color"}, "dark"),
        ({"TERM": "xterm", "COLORTERM": "truecolor", "COLORFGBG": "0;15"}, "light"),
    ],
)
def test_the_terminal_chooses(environment: dict[str, str], name: str) -> None:
    assert theme_for_terminal(environment) == name


def good() -> str:
    return (shipped_folder() / "dark.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("name = ", "no TOML"),
        (good().replace('"dark"', '"Dark Theme"'), "name of small letters"),
        (good().replace("[styles]", "[style]"), "did you mean 'styles'"),
        (good().replace("accent ", "acent "), "x.toml:13: there is no style 'acent'; did you mean 'accent'"),
        (good().replace('ok          = "#86d98f"', ""), "'ok' is missing"),
        (good().replace("#86d98f", "green"), "neither a colour like"),
        (good().replace("#86d98f", "#86d98f #000000"), "two colours"),
        (good().replace('"#86d98f"', "3"), "write a style as text"),
        (good().replace("dark = true", "dark = true\nansi = true"), "ANSI names"),
    ],
)
def test_a_bad_theme_is_a_message(text: str, told: str) -> None:
    with pytest.raises(ThemeError) as error:
        parse_theme(text, "x.toml")
    assert told in str(error.value)


def test_a_users_theme_wins_and_a_broken_one_is_told(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(good().replace('name = "dark"', 'name = "mine"'), encoding="utf-8")
    (tmp_path / "broken.toml").write_bytes(b"\xff")
    theme, told = chosen_theme("mine", tmp_path)
    assert (theme.name, told) == ("mine", "")
    for name in ("broken", "absent"):
        theme, told = chosen_theme(name, tmp_path)
        assert theme.name != name
        assert name in told
        assert "Using the theme for this terminal" in told
