"""The command as people run it: a process of its own."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple


class Done(NamedTuple):
    """How a command ended."""

    code: int
    out: bytes
    err: str

    @property
    def lines(self) -> list[Any]:
        """The JSON values on stdout, one a line."""
        return [json.loads(line) for line in self.out.splitlines()]

    def says(self, *pieces: str) -> bool:
        """Whether stderr holds these, and no traceback."""
        return "Traceback" not in self.err and all(piece in self.err for piece in pieces)


async def start(*words: str, env: Mapping[str, str] | None = None) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "llmdebug",
        *words,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, **(env or {})},
    )


async def run(*words: str, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> Done:
    process = await start(*words, env=env)
    out, err = await process.communicate(stdin)
    assert process.returncode is not None
    return Done(process.returncode, out, err.decode())
