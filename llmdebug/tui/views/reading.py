"""An answer taken apart for its views: what takes long of it, so that it can be done beside the event loop."""

from __future__ import annotations

from dataclasses import dataclass

from llmdebug.http.exchange import Response
from llmdebug.tui.views.body import BodyDocument
from llmdebug.tui.views.streamtext import StreamText, body_text, stream_text

QUICK_BYTES = 100_000
"""Bodies up to this size are read on the event loop: a thread would take longer."""
TEXT_BYTES = 2_000_000
"""Of larger answers that are no stream the text is not put together."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The views' material."""

    document: BodyDocument
    text: StreamText | None


def read_response(response: Response) -> Reading:
    """Takes a second for 100 MB."""
    text = None
    if response.events:
        text = stream_text(response.events)
    elif len(response.body) <= TEXT_BYTES:
        text = body_text(response.body)
    return Reading(BodyDocument(response.body, raw=bool(response.events)), text)
