"""Tokenizers from the hub: a small one on loopback."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from llmdebug.tokens.process import LocalTokenizer
from llmdebug.tokens.values import TokenizerError


class Hub(ThreadingHTTPServer):
    """Serves the files of one folder as those of every model."""

    folder: Path
    asked: list[str]


class Answering(BaseHTTPRequestHandler):
    server: Hub

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        self.server.asked.append(path)
        file = self.server.folder / Path(path).name
        data = file.read_bytes() if "/resolve/" in path and file.is_file() else b""
        self.send_response(200 if data or path == "/" else 404)
        if not data:
            self.send_header("X-Error-Code", "EntryNotFound")
        self.send_header("ETag", f'"{hashlib.sha256(data).hexdigest()}"')
        self.send_header("X-Repo-Commit", "b" * 40)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(data)

    do_HEAD = do_GET

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


@pytest.fixture
def hub(folders: Mapping[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    with Hub(("127.0.0.1", 0), Answering) as served:
        served.folder, served.asked = folders["byte_level"], []
        thread = threading.Thread(target=served.serve_forever)
        thread.start()
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{served.server_port}")
        monkeypatch.setenv("HF_HOME", str(tmp_path))
        monkeypatch.delenv("HF_HUB_CACHE", raising=False)
        yield served
        served.shutdown()
        thread.join()


async def test_a_tokenizer_is_fetched_only_where_that_is_allowed(hub: Hub) -> None:
    with pytest.raises(TokenizerError, match="not in the local cache"):
        await LocalTokenizer.load("small/model")
    assert hub.asked == []
    stages: list[str] = []
    async with await LocalTokenizer.load("small/model", hub=True, progress=stages.append) as local:
        assert local.vocabulary.size == 600
    assert stages[-1] == "fetching small/model from the hub"
    hub.asked.clear()
    async with await LocalTokenizer.load("small/model") as local:
        assert local.vocabulary.size == 600
    assert hub.asked == []
