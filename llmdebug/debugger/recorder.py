"""What a session keeps on disk: each exchange before it is sent and when its answer is in. Calls wait for the disk."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from llmdebug.http.exchange import Exchange, Request
from llmdebug.recording.history import History, HistoryError


class NotRecordedError(Exception):
    """What the user wants in a file of their own cannot be kept there."""

    def __init__(self, what: str, why: object, step: int | None = None) -> None:
        """`step` counts from 0."""
        self.what = what
        self.why = why
        super().__init__(("" if step is None else f"Step {step + 1:,}: ") + f"{what}: {why}")


class Recorder:
    """Without a history nothing is kept, and nothing stops; `warn` gets sentences about what could not be kept.

    A file that the user named is another matter: what cannot be kept in it raises NotRecordedError.
    """

    def __init__(self, warn: Callable[[str], None]) -> None:
        self._warn = warn
        self._history: History | None = None
        self._must = False

    @property
    def records(self) -> bool:
        return self._history is not None

    def open(self, file: Path | None, limit_bytes: int) -> None:
        """The user's history, or the very `file`; over `limit_bytes` the oldest are dropped, 0 keeps all."""
        self._must = file is not None
        try:
            self._history = History(file=file, limit_bytes=limit_bytes)
        except HistoryError as error:
            self._warn(f"Nothing is recorded: {error}")
            return
        if self._history.dropped_bytes:
            dropped = f"{self._history.dropped_bytes / 1e6:,.0f} MB"
            self._warn(f"The history had grown over {limit_bytes / 1e6:,.0f} MB: {dropped} of the oldest are gone.")

    def close(self) -> None:
        if self._history is not None:
            self._history.close()

    def begin(self, clean: Request, notes: Mapping[str, Any] | None) -> str:
        """The exchange's name in the history; empty where nothing can be recorded."""
        found: list[str] = []
        self._write(lambda history: found.append(history.begin(clean, notes)), "it cannot be recorded and is not sent")
        return found[0] if found else ""

    def finish(self, id_: str, clean: Exchange) -> None:
        if id_:
            self._write(lambda history: history.finish(id_, clean), "it was sent, and its answer is not kept")

    def note(self, id_: str, name: str, value: Any) -> None:
        if id_:
            self._write(lambda history: history.note(id_, name, value), f"its {name} is not kept")

    def recorded(self, id_: str) -> Exchange | None:
        """An exchange that was recorded here; None where it cannot be had."""
        found: list[Exchange | None] = []
        self._write(lambda history: found.append(history.own(id_)), "it cannot be read again")
        return found[0] if found else None

    def _write(self, write: Callable[[History], None], lost: str) -> None:
        """`lost` tells what is not there where the history cannot be used."""
        if self._history is None:
            return
        try:
            write(self._history)
        except HistoryError as error:
            if self._must:
                raise NotRecordedError(lost, error) from error
            self._warn(f"Not recorded: {error}")
