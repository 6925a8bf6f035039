"""What came of steps: the last in memory, bounded in number and in bytes; the others are read again."""

from __future__ import annotations

import pytest

from llmdebug.debugger import attempts
from llmdebug.debugger.attempts import Attempt, Attempts
from llmdebug.formats.exchanges import row_of
from llmdebug.http.exchange import Exchange, Request, Response


def exchange(size: int) -> Exchange:
    return Exchange(request=Request(method="GET", url="http://h/"), response=Response(status=200, body=b"x" * size))


def test_large_answers_make_room_for_newer_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is in no recording stays, and so does the newest."""
    monkeypatch.setattr(attempts, "KEPT_BYTES", 100)
    read: list[str] = []

    def again(id_: str) -> Exchange:
        read.append(id_)
        return exchange(1)

    kept = Attempts(again)
    for step, (id_, size) in enumerate([("a", 60), ("", 60), ("c", 30), ("d", 500)]):
        made = exchange(size)
        kept.add(Attempt(step=step, id=id_, row=row_of(made), outcome="answered", changed=False), made)
    sizes = [len(found.response.body) for step in range(4) if (found := kept.exchange(step)) and found.response]
    assert (sizes, read) == ([1, 60, 1, 500], ["a", "c"])
