"""Unsent edits: one draft a session, kept over a dropped connection or a crash."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from pathlib import Path

import msgspec

from llmdebug.formats.jsonlines import RequestRecord, decode_record, encode_record, exchange_of, written_request
from llmdebug.http.exchange import Request
from llmdebug.http.secrets import redact
from llmdebug.recording.folder import HistoryError, created, state_folder, unusable, write_privately


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """An edit that was not sent."""

    session: str
    request: Request
    """Its secrets as placeholders. Its body is as it was typed, JSON or not."""
    saved_at: float
    """Unix time."""


class Drafts:
    """Opening raises HistoryError where none can be kept."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = created((state_folder() if folder is None else folder) / "drafts")

    def save(self, session: str, request: Request, known_secrets: Mapping[str, str] | None = None) -> None:
        """Replaces the session's draft. Raises HistoryError."""
        clean, _ = redact(request, known_secrets)
        record = RequestRecord(id=session, at=time.time(), request=written_request(clean))
        write_privately(self._file(session), encode_record(record))

    def load(self, session: str) -> Draft | None:
        """None where there is no draft. A damaged one raises HistoryError and stays where it is."""
        file = self._file(session)
        try:
            record = decode_record(file.read_bytes())
            drafted = exchange_of(record, None).request if isinstance(record, RequestRecord) else None
        except FileNotFoundError:
            return None
        except OSError as error:
            raise unusable(file, error) from error
        except ValueError as error:
            raise HistoryError(f"The draft {file} is damaged: {error}.") from error
        if not isinstance(record, RequestRecord) or drafted is None:
            raise HistoryError(f"The draft {file} is damaged: it holds no request.")
        return Draft(session=session, request=drafted, saved_at=record.at)

    def discard(self, session: str) -> None:
        """The draft was sent, or is not wanted. Raises HistoryError."""
        try:
            self._file(session).unlink(missing_ok=True)
        except OSError as error:
            raise unusable(self._file(session), error) from error

    def _file(self, session: str) -> Path:
        """A session may be named by a path or a URL: its file is named by a hash of it."""
        return self._folder / (hashlib.sha256(session.encode("utf-8", "replace")).hexdigest()[:32] + ".json")
