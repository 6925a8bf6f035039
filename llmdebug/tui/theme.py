"""Themes: a name for each role that text has on the screen, read from TOML files.

A style is written as people say it: `"bold #ff6b6b on #1e2227"`, with ANSI names (`bright_red`, `default`)
for themes that follow the terminal. A theme that cannot be used is a message, never an error.
"""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path

import msgspec
from rich.color import Color, ColorParseError
from rich.style import Style

ATTRIBUTES = ("bold", "dim", "italic", "underline", "reverse", "strike")

ROLES: dict[str, str] = {
    "text": "ordinary text, and the background of everything",
    "dim": "what matters less: line numbers, hints, separators",
    "title": "a pane's title line",
    "title_focus": "the title line of the pane that has the focus",
    "bar": "the first and the last line of the screen",
    "bar_key": "a key's name in the last line",
    "strong": "headings and names that stand out",
    "accent": "what can be acted on: remedies, links",
    "ok": "answered, confirmed",
    "warning": "ignored, stale, waiting",
    "error": "refused, blamed, failed",
    "key": "keys of JSON, names of headers",
    "string": "strings of JSON and code",
    "number": "numbers",
    "literal": "true, false, null",
    "keyword": "keywords of code",
    "punct": "brackets, commas, colons",
    "cursor": "the line the cursor stands on",
    "match": "what a search found",
    "marked": "the source line that refused",
}
"""Each role a theme must name, and what it is for."""

_HEX = re.compile(r"#[0-9a-fA-F]{6}")
MAX_BYTES = 100_000
AA = 4.5
"""The contrast that WCAG asks of text."""


class ThemeError(ValueError):
    """A theme cannot be used; the text is a sentence with file and, where known, line."""


class Theme(msgspec.Struct, frozen=True, kw_only=True):
    """A theme as read."""

    name: str
    dark: bool
    ansi: bool
    """Whether it is made of the terminal's own colours."""
    styles: Mapping[str, Style]
    path: str = ""

    def style(self, role: str) -> Style:
        """A role's style, background included; of an unknown role, the one of text."""
        return self.styles.get(role) or self.styles["text"]

    def on_background(self, role: str, behind: str) -> Style:
        """A role's style on the background of another one: a coloured word in the line under the cursor."""
        return _laid(self.style(role), self.styles[behind], self.ansi)


@lru_cache(maxsize=1024)
def _laid(over: Style, under: Style, ansi: bool) -> Style:
    """`over` where it stays legible on the background of `under`; else `under` with what it has of weight."""
    if under.reverse:
        return under
    laid = over + Style(bgcolor=under.bgcolor, bold=under.bold, underline=under.underline)
    coloured = under.bgcolor is not None and not under.bgcolor.is_default
    legible = not coloured if ansi else contrast(laid.color, laid.bgcolor) >= AA
    return laid if legible else laid + Style(color=under.color)


def contrast(one: Color | None, other: Color | None) -> float:
    """The contrast of two colours as WCAG reckons it, 1 to 21; 21 where a colour is the terminal's own."""
    if one is None or other is None or one.triplet is None or other.triplet is None:
        return 21.0
    light, dark = sorted((_luminance(one.triplet), _luminance(other.triplet)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: tuple[int, int, int]) -> float:
    parts = [part / 255 for part in colour]
    red, green, blue = (p / 12.92 if p <= 0.03928 else float(((p + 0.055) / 1.055) ** 2.4) for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def parse_theme(text: str, path: str) -> Theme:
    """Raises ThemeError."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ThemeError(f"{path}: this is no TOML: {error}.") from None
    for key in document.keys() - {"name", "dark", "ansi", "styles"}:
        near = _nearest(key, ("name", "dark", "ansi", "styles"))
        raise ThemeError(f"{path}{_line_of(text, key)}: a theme has no {key!r}{near}")
    name, dark, ansi = document.get("name"), document.get("dark", True), document.get("ansi", False)
    if not isinstance(name, str) or not re.fullmatch(r"[a-z0-9][a-z0-9-]*", name):
        raise ThemeError(f"{path}: give the theme a name of small letters, digits and '-'.")
    if not isinstance(dark, bool) or not isinstance(ansi, bool):
        raise ThemeError(f"{path}: 'dark' and 'ansi' are true or false.")
    written = document.get("styles")
    if not isinstance(written, dict):
        raise ThemeError(f"{path}: it lacks its table [styles].")
    for key in written.keys() - ROLES.keys():
        raise ThemeError(f"{path}{_line_of(text, key)}: there is no style {key!r}{_nearest(key, ROLES)}")
    for role in ROLES:
        if role not in written:
            raise ThemeError(f"{path}: the style {role!r} is missing ({ROLES[role]}).")
    styles = {}
    for role in ROLES:
        place = path + _line_of(text, role)
        styles[role] = _style(written[role], place, ansi=ansi)
    base = Style(color=styles["text"].color, bgcolor=styles["text"].bgcolor)
    return Theme(
        name=name, dark=dark, ansi=ansi, path=path, styles={role: base + style for role, style in styles.items()}
    )


def _style(written: object, place: str, *, ansi: bool) -> Style:
    if not isinstance(written, str) or not written.strip():
        raise ThemeError(f'{place}: write a style as text, such as "bold #ff6b6b on #101418".')
    words = written.split()
    attributes: dict[str, bool] = {}
    colours: dict[str, Color] = {}
    slot = "color"
    for word in words:
        if word == "on":
            slot = "bgcolor"
        elif word in ATTRIBUTES:
            attributes[word] = True
        elif slot in colours:
            raise ThemeError(f"{place}: {written!r} has two colours; write 'on' before the background.")
        else:
            colours[slot] = _colour(word, place, ansi=ansi)
    return Style(
        color=colours.get("color"),
        bgcolor=colours.get("bgcolor"),
        bold=attributes.get("bold"),
        dim=attributes.get("dim"),
        italic=attributes.get("italic"),
        underline=attributes.get("underline"),
        reverse=attributes.get("reverse"),
        strike=attributes.get("strike"),
    )


def _colour(word: str, place: str, *, ansi: bool) -> Color:
    if _HEX.fullmatch(word):
        if ansi:
            raise ThemeError(f"{place}: {word}: a theme with 'ansi = true' has ANSI names, or set it to false.")
        return Color.parse(word)
    if not ansi:
        raise ThemeError(f"{place}: {word!r} is neither a colour like #ff6b6b nor one of {', '.join(ATTRIBUTES)}.")
    try:
        colour = Color.parse(word)
    except ColorParseError:
        colour = None
    if colour is None or (colour.number or 0) > 15 or colour.triplet is not None:
        raise ThemeError(f"{place}: {word!r} is no ANSI colour; there are default, red, bright_red and their like.")
    return colour


def _line_of(text: str, key: str) -> str:
    match = re.search(rf"(?m)^\s*\"?{re.escape(key)}\"?\s*=", text)
    return f":{text.count(chr(10), 0, match.end()) + 1}" if match else ""


def _nearest(key: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(key, list(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else "."


def shipped_folder() -> Path:
    """Where the themes that come with llmdebug lie: in the package, or beside it in a checkout."""
    inside = Path(__file__).parent.parent / "themes"
    return inside if inside.is_dir() else Path(__file__).parent.parent.parent / "themes"


def theme_files(user_folder: Path | None) -> dict[str, Path]:
    """Theme name, as the file is called, to file; the user's own win."""
    files: dict[str, Path] = {}
    for folder in (shipped_folder(), user_folder):
        try:
            found = sorted(folder.glob("*.toml")) if folder is not None and folder.is_dir() else []
        except OSError:
            continue
        files |= {path.stem: path for path in found}
    return files


def load_theme(name: str, files: Mapping[str, Path]) -> Theme:
    """Raises ThemeError, with the names there are for one that is not."""
    path = files.get(name)
    if path is None:
        near = _nearest(name, files).rstrip(".") or f"; there are {', '.join(files)}"
        raise ThemeError(f"There is no theme {name!r}{near.rstrip('?.')}.")
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES)
        text = data.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ThemeError(f"{path}: the theme cannot be read: {error}.") from None
    return parse_theme(text, str(path))


def theme_for_terminal(environment: Mapping[str, str]) -> str:
    """The theme that suits a terminal, where the user named none."""
    if "NO_COLOR" in environment:
        return "monochrome"
    term = environment.get("TERM", "")
    rich_colours = environment.get("COLORTERM", "") in ("truecolor", "24bit") or "256" in term or "kitty" in term
    if not rich_colours:
        return "monochrome" if term in ("dumb", "unknown", "") or term.startswith("vt") else "ansi16"
    background = environment.get("COLORFGBG", "").rpartition(";")[2]
    return "light" if background in ("7", "15") else "dark"


def fallback_theme() -> Theme:
    """Works without any file, on any terminal."""
    plain = Style(color=Color.default(), bgcolor=Color.default())
    reverse = plain + Style(reverse=True)
    bold = plain + Style(bold=True)
    special = dict.fromkeys(("title_focus", "bar", "cursor", "match", "marked"), reverse)
    special |= dict.fromkeys(("title", "strong", "accent", "error", "warning", "bar_key"), bold)
    return Theme(name="plain", dark=True, ansi=True, styles={role: special.get(role, plain) for role in ROLES})


def chosen_theme(name: str, user_folder: Path | None) -> tuple[Theme, str]:
    """The theme named (or `auto`), and what to tell the user where another one is used instead."""
    files = theme_files(user_folder)
    wanted = theme_for_terminal(os.environ) if name in ("", "auto") else name
    try:
        return load_theme(wanted, files), ""
    except ThemeError as error:
        told = f"{error} Using the theme for this terminal."
    try:
        return load_theme(theme_for_terminal(os.environ), files), told
    except ThemeError:
        return fallback_theme(), told


def background_of(theme: Theme) -> str:
    """The background as Textual writes colours."""
    colour = theme.style("text").bgcolor
    if theme.ansi or colour is None or colour.triplet is None:
        return "ansi_default"
    return colour.triplet.hex
