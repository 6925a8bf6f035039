"""A HAR file of a pipeline's requests to the demo's server."""

from __future__ import annotations

import json
from pathlib import Path

from llmdebug.formats.har_writing import har_pieces
from llmdebug.http.exchange import Exchange, Request, Response, Timing

JSON = (("Content-Type", "application/json"),)
GOOD = {"model": "alice", "prompt": "Once", "max_tokens": 1}
BAD = {"model": "alice", "prompt_token_ids": [1]}
NO_MODEL = {"model": "bob", "prompt": "Once"}


def har(tmp_path: Path, *bodies: object, status: int = 200) -> str:
    """All of them were answered with the same status."""
    exchanges = [
        Exchange(
            request=Request(
                method="POST", url="http://recorded.test/v1/completions", headers=JSON, body=json.dumps(body).encode()
            ),
            response=Response(status=status, headers=JSON, body=b'{"as": "recorded"}'),
            timing=Timing(started_at=1000.0, first_byte=0.1, end=0.2),
        )
        for body in bodies
    ]
    path = tmp_path / "pipeline.har"
    path.write_bytes(b"".join(har_pieces(exchanges)))
    return str(path)
