"""Servers in processes and environments of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

SERVE = """\
import json, os, socket, sys
from http.server import BaseHTTPRequestHandler, HTTPServer

class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        body = json.dumps({"openapi": "3.1.0", "paths": {}}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *args):
        pass

def main(app=None):
    server = HTTPServer(("", 0), Handler)
    for step in os.environ.get("STEPS", "").split():
        if step.startswith("chroot="):
            os.chroot(step.removeprefix("chroot="))
            os.chdir("/srv")
    print(server.server_port, flush=True)
    for _ in range(os.environ.get("STEPS", "").count("fork")):
        os.fork()
    server.serve_forever()

if __name__ == "__main__":
    main()
"""
SYSTEM_PYTHON = Path("/usr/bin/python3")


def environment(folder: Path, python: str = sys.executable) -> tuple[str, Path]:
    """A virtual environment: its interpreter, and its folder of packages."""
    subprocess.run([python, "-m", "venv", "--without-pip", str(folder)], check=True)
    return str(folder / "bin" / "python"), next(folder.glob("lib/python3*/site-packages"))


def package(site: Path, name: str = "served", version: str = "2.3", *, command: str = "") -> Path:
    """A package that serves, as an installer leaves it."""
    (site / name).mkdir(parents=True)
    (site / name / "__init__.py").touch()
    (site / name / "app.py").write_text(SERVE)
    info = site / f"{name}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Name: {name}\nVersion: {version}\n")
    if command:
        (info / "entry_points.txt").write_text(f"[console_scripts]\nother = x:y\n{command} = {name}.app:main\n")
    return site / name


class Process:
    """A server that prints its port; use as a context manager."""

    def __init__(self, words: Sequence[str], *, cwd: Path | None = None, steps: str = "", **options: Any) -> None:
        clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
        clean |= {"STEPS": steps} | options.pop("env", {})
        self._process = subprocess.Popen(
            words, cwd=cwd or "/", env=clean, stdout=subprocess.PIPE, start_new_session=True, text=True, **options
        )
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline())
        self.pid = self._process.pid

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        with urllib.request.urlopen(self.url + "/openapi.json", timeout=20):
            return self

    def __exit__(self, *_: object) -> None:
        os.killpg(self.pid, 9)
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()
