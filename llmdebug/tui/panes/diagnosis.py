"""The diagnosis of the answer: what refused, where, why, and what to send instead."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from llmdebug.diagnosis.verdict import NO_TREE, Diagnosis, Site
from llmdebug.tui.panes.linepane import LinePane
from llmdebug.tui.theme import Theme
from llmdebug.tui.views.diagnosisview import Target, places, remedy_bar, trail_rows, verdict_rows
from llmdebug.tui.views.rows import FixedRows, Row, Rows, Span, safe, wrapped
from llmdebug.tui.worksheet import Entry

REMEDY_LINES = 3
TIGHT = 10
"""Below so many rows only the nearest lines of source are shown."""
WITHOUT_DIAGNOSIS: dict[str, str] = {
    "answered": "Nothing is wrong with this answer.",
    "refused": "This refusal is not diagnosed.",
    "no_answer": "No complete answer came, so there is nothing to diagnose.",
}
"""What is said of an answer in each state where there is no diagnosis of it."""
RECORDED = "This is the recorded answer: {send} sends the request again."


class DiagnosisPane(LinePane):
    pane: ClassVar[str] = "diagnosis"

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self.entry: Entry | None = None
        self.linked = False
        """Whether a source tree is linked."""
        self.trail = False
        self.targets: dict[int, Target] = {}
        self._shown: Diagnosis | None = None

    def show(self, entry: Entry | None, *, linked: bool) -> None:
        diagnosis = entry.diagnosis if entry is not None else None
        home = entry is not self.entry or diagnosis is not self._shown
        self.entry, self.linked, self._shown = entry, linked, diagnosis
        if home:
            self.trail = False
        self.rebuild(home=home)

    def heading(self, cells: int) -> tuple[Row, Row]:
        entry = self.entry
        if entry is None or (entry.diagnosis is None and not entry.diagnosing):
            return (Span("Diagnosis"),), ()
        if entry.diagnosing:
            return (Span("Diagnosis"),), (Span(entry.diagnosing, "warning"),)
        assert entry.diagnosis is not None
        told: list[Span] = [Span("Diagnosis"), Span(f"  {entry.diagnosis.kind}", "strong")]
        if entry.settled == "confirmed":
            told.append(Span(", confirmed", "ok"))
        elif entry.is_stale:
            told.append(Span("  of an older edit", "warning"))
        view = "verdict [trail]" if self.trail else "[verdict] trail"
        return tuple(told), (Span(view),)

    def make_rows(self, cells: int) -> Rows:
        self.targets = {}
        entry = self.entry
        diagnosis = entry.diagnosis if entry is not None else None
        if entry is None or diagnosis is None:
            return FixedRows(wrapped(self._before(entry), cells, 2))
        if self.trail:
            return FixedRows(trail_rows(diagnosis, cells))
        if NO_TREE in diagnosis.notes:
            others = tuple(note for note in diagnosis.notes if note != NO_TREE)
            diagnosis = msgspec.structs.replace(diagnosis, notes=others)
        broken = entry.exchange is not None and entry.exchange.failure is not None
        first = self._settled(entry) or self._broken_off(entry)
        shown = verdict_rows(diagnosis, cells, first, tight=self.height_of_rows < TIGHT, broken=broken)
        self.targets = shown.targets
        rows = shown.rows
        if not self.linked:
            rows = [
                *rows,
                *wrapped([safe(self.keymap.told("No source is linked: {link-source} links it."), "warning")], cells),
            ]
        return FixedRows(rows)

    def _before(self, entry: Entry | None) -> list[Row]:
        if entry is None:
            return []
        if entry.settled:
            return [self._settled(entry)]
        if entry.undiagnosed:
            return [(Span("✗ ", "error"), *safe(f"This answer is not diagnosed: {entry.undiagnosed}", "error"))]
        if entry.exchange is not None and not entry.diagnosing:
            if entry.exchange.failure is not None and not entry.is_recorded:
                return [self._broken_off(entry)]
            told = RECORDED if entry.is_recorded else WITHOUT_DIAGNOSIS.get(entry.state, "")
            return [safe(self.keymap.told(told), "dim")]
        traced = "A refusal is traced here to the line of the server's source that refused."
        if not self.linked:
            traced = "No source is linked: {link-source} links the server's, to trace a refusal in it."
        return [
            safe(self.keymap.told("{send} sends this request, {edit} edits it, {list} picks another one.")),
            safe(self.keymap.told(traced), "text" if self.linked else "warning"),
            safe(self.keymap.told("Paste a curl command, a client's error, or a JSON body. {help} shows every key.")),
        ]

    def _broken_off(self, entry: Entry) -> Row:
        """Why there is no answer, or only a part: that matters before all else."""
        failure = entry.exchange.failure if entry.exchange is not None else None
        if failure is None or (entry.diagnosis is not None and entry.diagnosis.summary == failure.message):
            return ()
        return (Span("✗ ", "error"), *safe(failure.message, "error"))

    def _settled(self, entry: Entry) -> Row:
        if not entry.settled:
            return ()
        mark, role = {"confirmed": ("✓ ", "ok"), "settled": ("→ ", "warning")}.get(entry.settled, ("✗ ", "error"))
        return (Span(mark, role), *safe(entry.settled_text, role))

    def make_pinned(self, cells: int) -> tuple[Row, ...]:
        entry = self.entry
        if entry is None or entry.diagnosis is None or entry.settled == "confirmed":
            return ()
        if len(self.make_rows(cells)) < self.size.height:
            return ()
        return remedy_bar(entry.diagnosis, cells, REMEDY_LINES if self.size.height > 8 else 1)

    @property
    def target(self) -> Target | None:
        """What the cursor stands on; the first site where it stands on nothing in particular."""
        diagnosis = self.entry.diagnosis if self.entry is not None else None
        if diagnosis is None:
            return None
        found = self.targets.get(self.cursor)
        if found is not None:
            return found
        return Target("site", 0) if places(diagnosis) else None

    @property
    def site(self) -> Site | None:
        """The place that is opened when asked."""
        diagnosis = self.entry.diagnosis if self.entry is not None else None
        if diagnosis is None or not places(diagnosis):
            return None
        target = self.target
        index = target.index if target is not None and target.kind == "site" else 0
        return places(diagnosis)[index]
