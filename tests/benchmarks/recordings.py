"""How long a large recording takes to open and to filter, and how much memory: `python recordings.py [COUNT]`."""

from __future__ import annotations

import json
import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sized
from pathlib import Path
from typing import TypeVar

from llmdebug.debugger.condition import parse_condition
from llmdebug.debugger.filter import matching
from llmdebug.formats.loading import open_exchanges
from llmdebug.formats.writing import pieces
from llmdebug.http.exchange import Exchange, Request, Response, Timing

JSON = (("Content-Type", "application/json"),)
CONDITIONS = (
    "status >= 400",
    "path ~ chat",
    "latency > 900ms",
    "ttft > 1s",
    "outcome == refused",
    "kind == missing_field",
    'site ~ "protocol.py"',
    "changed",
    "size > 2kB",
    "events > 3",
    "body ~ needle",
    'body ~ "need[l]e"',
    'body ~ "(?i)NEEDLE|\\d\\d"',
    "not request ~ needle",
)

Found = TypeVar("Found", bound=Sized)


def exchanges(count: int) -> Iterator[Exchange]:
    """About 2 KB each; every 50th refused, every 1,000th holds a needle."""
    chance = random.Random(1)
    words = ["".join(chance.choices("abcdefghijklmnop", k=chance.randint(3, 9))) for _ in range(2000)]
    for number in range(count):
        body = {"model": "alice", "messages": [{"role": "user", "content": " ".join(chance.choices(words, k=110))}]}
        text = " ".join(chance.choices(words, k=80)) + (" needle" if number % 1000 == 0 else "")
        url = "http://h.test/v1/chat/completions"
        yield Exchange(
            request=Request(method="POST", url=url, headers=JSON, body=json.dumps(body).encode()),
            response=Response(
                status=400 if number % 50 == 0 else 200, headers=JSON, body=json.dumps({"text": text}).encode()
            ),
            timing=Timing(started_at=1e9 + number, first_byte=0.01, end=chance.random()),
        )


def timed(told: str, work: Callable[[], Found]) -> Found:
    wall, cpu = time.perf_counter(), time.process_time()
    found = work()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"{told:34} {wall:6.2f} s ({cpu:.2f} s of CPU), {len(found):,} exchanges, peak {peak} MB")
    return found


def main(count: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "recording.jsonl"
        with open(file, "wb") as opened:
            opened.writelines(pieces(exchanges(count), "jsonl"))
        print(f"{count:,} exchanges, {file.stat().st_size / 1e6:,.0f} MB")
        listed = timed("open", lambda: open_exchanges(str(file)))
        for source in CONDITIONS:
            condition = parse_condition(source)
            timed(source, lambda condition=condition: matching(condition, listed))  # type: ignore[misc]


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
