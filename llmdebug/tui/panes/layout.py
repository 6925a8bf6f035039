"""Where the panes stand: one, two or three columns, by the size of the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from textual.geometry import NULL_OFFSET, NULL_SPACING, Region, Size
from textual.layout import Layout, WidgetPlacement

if TYPE_CHECKING:
    from collections.abc import Mapping

    from textual.widget import Widget

WIDE = 110
"""Columns from which the list of requests has a column of its own."""
NARROW = 60
LOW = 15
"""Below either, one pane at a time is shown."""


class Arrangement(NamedTuple):
    """Regions by pane; a pane that is not named is not shown."""

    regions: dict[str, Region]
    dividers: frozenset[str]
    """Panes whose first column is a line."""


def is_single(size: Size) -> bool:
    """Whether only one pane fits."""
    return size.width < NARROW or size.height < LOW


def arrange(size: Size, *, active: str, zoomed: bool, wanted_below: int = 10) -> Arrangement:
    """The panes between the first and the last line. `wanted_below` is what the diagnosis would like to have."""
    width, height = size.width, max(size.height - 2, 1)
    whole = Region(0, 1, width, height)
    if zoomed or is_single(size) or (active == "requests" and width < WIDE):
        return Arrangement({active: whole}, frozenset())
    below = max(6, min(wanted_below, height - 7, height * 3 // 5))
    above = height - below
    regions = {"diagnosis": Region(0, 1 + above, width, below)}
    left = 0
    if width >= WIDE:
        left = max(26, width // 5)
        regions["requests"] = Region(0, 1, left, above)
    middle = (width - left) // 2
    regions["request"] = Region(left, 1, middle, above)
    regions["response"] = Region(left + middle, 1, width - left - middle, above)
    dividers = {"response"} | ({"request"} if left else set())
    return Arrangement(regions, frozenset(dividers))


class PanesLayout(Layout):
    """Places each widget at the region it was given, and no other."""

    name = "panes"

    def __init__(self, regions: Mapping[Widget, Region]) -> None:
        super().__init__()
        self.regions = regions

    def arrange(self, parent: Widget, children: list[Widget], size: Size, greedy: bool = True) -> list[WidgetPlacement]:
        return [
            WidgetPlacement(self.regions[child], NULL_OFFSET, NULL_SPACING, child)
            for child in children
            if child in self.regions
        ]
