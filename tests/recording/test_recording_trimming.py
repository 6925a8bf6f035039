"""The history stays within its bound, and nobody loses what they have open."""

from __future__ import annotations

from pathlib import Path

from llmdebug.debugger.session import Session
from llmdebug.http.exchange import Exchange, Request, Response
from llmdebug.recording.history import History

LIMIT = 100_000


def fill(history: History, count: int) -> list[str]:
    asked = Request(method="POST", url="http://h/v1", body=b"{}")
    answer = Response(status=200, body=b"y" * 10_000)
    return [history.record(Exchange(request=asked, response=answer)) for _ in range(count)]


def test_the_oldest_go_when_it_is_opened_again(tmp_path: Path) -> None:
    with History(tmp_path, limit_bytes=LIMIT) as history:
        ids = fill(history, 30)
        assert history.path.stat().st_size > 2 * LIMIT, "what runs loses nothing"
        assert len(list(history)) == 30
    with History(tmp_path, limit_bytes=LIMIT) as history:
        assert history.path.stat().st_size <= LIMIT
        left = [recorded.id for recorded in history]
        assert len(left) >= 6
        assert left == ids[-len(left) :]
        assert history.dropped_bytes > LIMIT
        assert history.damaged == ()
        [new] = fill(history, 1)
        assert history.own(new) is not None
    with History(tmp_path, limit_bytes=LIMIT) as history:
        assert history.dropped_bytes == 0


def test_what_another_has_open_stays(tmp_path: Path) -> None:
    with History(tmp_path, limit_bytes=LIMIT) as running:
        ids = fill(running, 30)
        with History(tmp_path, limit_bytes=LIMIT) as other:
            assert other.dropped_bytes == 0
        assert all(running.own(one) is not None for one in ids)


def test_a_line_larger_than_the_bound_leaves_an_empty_history(tmp_path: Path) -> None:
    with History(tmp_path, limit_bytes=LIMIT) as history:
        asked = Request(method="POST", url="http://h/v1", body=b"x" * 3 * LIMIT)
        history.begin(asked)
    with History(tmp_path, limit_bytes=LIMIT) as history:
        assert list(history) == []


def test_a_session_tells_once() -> None:
    with History() as history:
        fill(history, 30)
    session = Session(history_mb=LIMIT / 1e6)
    assert [warning for warning in session.warnings if "oldest are gone" in warning]
    assert not Session(history_mb=LIMIT / 1e6).warnings
