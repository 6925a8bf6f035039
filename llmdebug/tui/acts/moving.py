"""Moving: between panes, requests and views, inside a pane, and to what is searched for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdebug.tui.panes.bars import Question
from llmdebug.tui.panes.layout import WIDE
from llmdebug.tui.screens.main import ORDER, MainScreen

if TYPE_CHECKING:
    from llmdebug.tui.commands import Pane

SIDEWAYS = 8


def _order(screen: MainScreen) -> tuple[Pane, ...]:
    """The panes Tab goes through: the list only where it is shown beside the others."""
    shows_list = screen.app.size.width >= WIDE and not screen.is_single
    return ORDER if shows_list else ORDER[1:]


def next_pane(screen: MainScreen) -> None:
    _step(screen, 1)


def previous_pane(screen: MainScreen) -> None:
    _step(screen, -1)


def _step(screen: MainScreen, step: int) -> None:
    order = _order(screen)
    here = order.index(screen.active) if screen.active in order else -1 if step > 0 else 0
    screen.activate(order[(here + step) % len(order)])


def zoom(screen: MainScreen) -> None:
    screen.zoomed = not screen.zoomed
    screen.place()


def to_list(screen: MainScreen) -> None:
    screen.activate("request" if screen.active == "requests" else "requests")


def leave_list(screen: MainScreen) -> None:
    screen.activate("request")


def pick(screen: MainScreen) -> None:
    if screen.worksheet.go(screen.requests.under_cursor):
        screen.show_entry(home=True)
    screen.activate("request")


def next_request(screen: MainScreen) -> None:
    _go(screen, screen.worksheet.current + 1)


def previous_request(screen: MainScreen) -> None:
    _go(screen, screen.worksheet.current - 1)


def _go(screen: MainScreen, index: int) -> None:
    if screen.worksheet.go(index):
        screen.show_entry(home=True)
    else:
        screen.tell("This is the last request." if index > 0 else "This is the first request.")


def next_view(screen: MainScreen) -> None:
    screen.response.next_view()


def fold(screen: MainScreen) -> None:
    if not screen.response.fold():
        screen.tell("There is nothing to fold on this line.")


def fold_all(screen: MainScreen) -> None:
    screen.response.fold_all(1)


def unfold_all(screen: MainScreen) -> None:
    screen.response.fold_all(None)


def down(screen: MainScreen) -> None:
    screen.pane.move_by(1)


def up(screen: MainScreen) -> None:
    screen.pane.move_by(-1)


def left(screen: MainScreen) -> None:
    if not (screen.active == "response" and screen.response.sideways(-1)):
        screen.pane.scroll_sideways(-SIDEWAYS)


def right(screen: MainScreen) -> None:
    if not (screen.active == "response" and screen.response.sideways(1)):
        screen.pane.scroll_sideways(SIDEWAYS)


def half_down(screen: MainScreen) -> None:
    screen.pane.move_half(1)


def half_up(screen: MainScreen) -> None:
    screen.pane.move_half(-1)


def page_down(screen: MainScreen) -> None:
    screen.pane.move_page(1)


def page_up(screen: MainScreen) -> None:
    screen.pane.move_page(-1)


def top(screen: MainScreen) -> None:
    screen.pane.move_to(0)


def bottom(screen: MainScreen) -> None:
    screen.pane.move_end()


def search(screen: MainScreen) -> None:
    def found(needle: str) -> None:
        if not needle:
            screen.pane.end_search()
        elif not screen.pane.search(needle):
            screen.pane.end_search()
            screen.tell(f"“{needle}” is not found in this pane.", "warning")
        screen.bottom.update()

    screen.ask(Question("search", "", found))


def search_next(screen: MainScreen) -> None:
    _search_on(screen, 1)


def search_previous(screen: MainScreen) -> None:
    _search_on(screen, -1)


def _search_on(screen: MainScreen, step: int) -> None:
    if not screen.pane.search(screen.pane.needle, step):
        screen.tell(f"“{screen.pane.needle}” is not found any more.", "warning")


def search_end(screen: MainScreen) -> None:
    screen.pane.end_search()
