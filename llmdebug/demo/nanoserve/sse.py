"""Server-sent events."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

from fastapi.responses import StreamingResponse

from .errors import RequestError, create_error_response

JSON = dict[str, Any]


async def _events(chunks: AsyncIterator[JSON]) -> AsyncIterator[str]:
    try:
        async for chunk in chunks:
            yield f"data: {json.dumps(chunk)}\n\n"
    except (RequestError, ValueError) as exc:
        error = create_error_response(str(exc))
        yield f"data: {error.model_dump_json()}\n\n"
    yield "data: [DONE]\n\n"


def event_stream(chunks: AsyncIterator[JSON]) -> StreamingResponse:
    return StreamingResponse(_events(chunks), media_type="text/event-stream")
