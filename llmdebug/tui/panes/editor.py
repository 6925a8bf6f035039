"""The editor of a request: Textual's text area with the app's colours and a gutter of marks.

Imported only when something is edited: it is not on the way to the first paint.
"""

from __future__ import annotations

import re
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual import events
from textual.strip import Strip
from textual.widgets import TextArea
from textual.widgets.text_area import TextAreaTheme

from llmdebug.tui.theme import Theme
from llmdebug.tui.views.highlight import header_row, json_row
from llmdebug.tui.views.safetext import harmless_letters

GUTTER = 2
_HEADER_LINE = re.compile(r"[\w-]+:")


def editor_theme(theme: Theme) -> TextAreaTheme:
    """The text area's colours from the app's."""
    text = theme.style("text")
    return TextAreaTheme(
        name=f"llmdebug-{theme.name}",
        base_style=text,
        gutter_style=theme.style("dim"),
        cursor_style=text + Style(reverse=True),
        cursor_line_style=text,
        cursor_line_gutter_style=theme.style("dim"),
        bracket_matching_style=theme.style("strong") + Style(underline=True),
        selection_style=theme.style("match"),
    )


class RequestEditor(TextArea):
    """Ctrl and Esc keys that the app has commands for go on to the screen."""

    DEFAULT_CSS = """
    RequestEditor { border: none; padding: 0; width: 1fr; height: 1fr; scrollbar-size: 0 0; }
    RequestEditor:focus { border: none; }
    """
    pane: ClassVar[str] = "editor"

    def __init__(self, text: str, theme: Theme) -> None:
        super().__init__(text, soft_wrap=True, tab_behavior="focus", highlight_cursor_line=False, id="editor")
        self.cursor_blink = False
        self.marks: dict[int, str] = {}
        self.refused: str | None = None
        """The text that was no request when the editor was to be left."""
        self._role_styles: dict[str, Style] = {}
        self.app_keys: frozenset[str] = frozenset()
        self.set_theme(theme)

    def set_theme(self, theme: Theme) -> None:
        colours = editor_theme(theme)
        self.register_theme(colours)
        roles = ("key", "string", "number", "literal", "punct", "strong", "text", "error", "warning")
        self._role_styles = {role: theme.style(role) for role in roles}
        self.theme = colours.name

    def set_marks(self, marks: dict[int, str]) -> None:
        """Marks by line, from 0."""
        if marks != self.marks:
            self.marks = marks
            self._line_cache.clear()
            self.refresh()

    @property
    def gutter_width(self) -> int:
        return GUTTER

    def get_line(self, line_index: int) -> Text:
        shown = harmless_letters(self.document.get_line(line_index))
        text = Text(shown, end="", no_wrap=True)
        if line_index == 0:
            text.stylize(self._role_styles["strong"])
            return text
        row = header_row(shown) if _HEADER_LINE.match(shown) else json_row(shown)
        at = 0
        for piece, role in row:
            text.stylize(self._role_styles.get(role, self._role_styles["text"]), at, at + len(piece))
            at += len(piece)
        return text

    def _render_line(self, y: int) -> Strip:
        strip = super()._render_line(y)
        info = self.wrapped_document._offset_to_line_info
        place = y + self.scroll_offset.y
        line, section = info[place] if place < len(info) else (-1, 1)
        mark = self.marks.get(line, "") if section == 0 else ""
        role = "error" if mark == "✗" else "warning" if mark else "text"
        return Strip.join([Strip([Segment(f"{mark or ' '} ", self._role_styles[role])], GUTTER), strip])

    async def _on_key(self, event: events.Key) -> None:
        """Keys that are the app's are left to it; everything else is typed here."""
        if event.key in self.app_keys:
            event.prevent_default()
            return
        await super()._on_key(event)
