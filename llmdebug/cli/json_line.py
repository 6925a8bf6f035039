"""Values as JSON, one a line, on stdout."""

from __future__ import annotations

import json
import sys
from typing import Any

import msgspec

from llmdebug.cli.raw_output import write_bytes


def json_line(value: Any) -> bytes:
    """One line of UTF-8. What msgspec cannot write (half surrogates, integers beyond 64 bits) Python's json can."""
    try:
        return msgspec.json.encode(value) + b"\n"
    except (UnicodeEncodeError, OverflowError, ValueError):
        return json.dumps(msgspec.to_builtins(value)).encode() + b"\n"


def print_json(value: Any) -> None:
    """On stdout at once, so that a reader of the pipe has each line as it comes."""
    write_bytes(sys.stdout, json_line(value))
