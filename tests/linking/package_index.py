"""A package index on loopback, honest or not, and the archives in it."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
import stat
import tarfile
import threading
import zipfile
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self


@dataclass
class PackageIndex:
    """Serves `/simple/NAME/` and `/files/NAME`; use as a context manager."""

    files: dict[str, bytes] = field(default_factory=dict)
    hashes: dict[str, str] = field(default_factory=dict)
    """Digests that the page tells instead of the true ones; an empty one is left out."""
    ranges: bool = False
    cut: int = 0
    """Bytes that are missing at the end of each file."""
    changing: bool = False
    """Whether a file is another one at each request, as its tag tells."""
    requests: list[tuple[str, str]] = field(default_factory=list)
    """Path and range of each."""

    def __enter__(self) -> Self:
        index = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                index.requests.append((self.path, self.headers.get("Range") or ""))
                if self.path.startswith("/simple/"):
                    index._page(self, self.path.removeprefix("/simple/").strip("/"))
                else:
                    index._file(self, self.path.removeprefix("/files/"))

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/simple"

    def _page(self, handler: BaseHTTPRequestHandler, name: str) -> None:
        listed = []
        for file, data in self.files.items():
            if re.split(r"-\d", file.lower().replace("_", "-"))[0] == name:
                digest = self.hashes.get(file, hashlib.sha256(data).hexdigest())
                listed.append(
                    {"filename": file, "url": f"/files/{file}", "hashes": {"sha256": digest} if digest else {}}
                )
        body = json.dumps({"meta": {"api-version": "1.1"}, "name": name, "files": listed}).encode()
        handler.send_response(200 if listed else 404)
        handler.send_header("Content-Type", "application/vnd.pypi.simple.v1+json")
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    def _file(self, handler: BaseHTTPRequestHandler, name: str) -> None:
        data = self.files[name]
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", handler.headers.get("Range") or "")
        tag = f'"{len(self.requests)}"' if self.changing else '"same"'
        matches = handler.headers.get("If-Range") in (None, tag)
        if self.ranges and wanted and matches:
            first, last = int(wanted[1]), min(int(wanted[2] or len(data)), len(data) - 1)
            handler.send_response(206)
            handler.send_header("Content-Range", f"bytes {first}-{last}/{len(data)}")
            data = data[first : last + 1]
        else:
            handler.send_response(200)
        handler.send_header("ETag", tag)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        try:
            handler.wfile.write(data[: len(data) - self.cut])
        except OSError:
            handler.close_connection = True


PROTOCOL = b"class Request:\n    prompt: str\n"
SMALL = {"served/__init__.py": b"", "served/protocol.py": PROTOCOL, "served/big.so": b"\x7fELF"}


def wheel(
    files: dict[str, bytes], name: str = "served", version: str = "1.0", record: dict[str, bytes] | None = None
) -> bytes:
    """`record` are contents that the wheel's list of hashes is made of instead of the true ones."""
    out = io.BytesIO()
    info = f"{name}-{version}.dist-info"
    members = {**files, f"{info}/METADATA": f"Name: {name}\nVersion: {version}\n".encode()}
    rows = [f"{path},sha256={_digest((record or {}).get(path, data))},{len(data)}" for path, data in members.items()]
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in members.items():
            archive.writestr(path, data)
        archive.writestr(f"{info}/RECORD", "\n".join([*rows, f"{info}/RECORD,,"]) + "\n")
    return out.getvalue()


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")


def sdist(files: dict[str, bytes], *, links: dict[str, str] | None = None) -> bytes:
    """A .tar.gz with these members, then links by their target."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for path, data in files.items():
            member = tarfile.TarInfo(path)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
        for path, target in (links or {}).items():
            member = tarfile.TarInfo(path)
            member.type, member.linkname = tarfile.SYMTYPE, target
            archive.addfile(member)
    return out.getvalue()


def linked_zip(path: str, target: str) -> bytes:
    """A wheel in which one member is a symbolic link."""
    out = io.BytesIO(wheel(SMALL))
    with zipfile.ZipFile(out, "a") as archive:
        member = zipfile.ZipInfo(path)
        member.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(member, target)
    return out.getvalue()
