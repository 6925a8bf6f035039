from __future__ import annotations

import errno
import os
import pwd
import signal
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from llmdebug.formats.loading import load_exchanges
from llmdebug.http.exchange import Exchange, Failure, Request, Response, Timing
from llmdebug.recording.folder import STATE_VARIABLE, state_folder
from llmdebug.recording.history import History, HistoryError

KEY = "sk-abcdef1234567890"

WRITER = """
import sys
from pathlib import Path
from llmdebug.http.exchange import Exchange, Request, Response
from llmdebug.recording.history import History

history = History(Path(sys.argv[1]))
count = int(sys.argv[2])
number = 0
while number != count:
    request = Request(method="POST", url="http://h/", body=str(number).encode() + b"x" * 20_000)
    history.record(Exchange(request=request, response=Response(status=200, body=b"y" * 20_000)))
    number += 1
    print(number, flush=True)
"""


def request(body: bytes = b"{}", **rest: Any) -> Request:
    return Request(method="POST", url="http://h/v1", body=body, **rest)


def answered(asked: Request, status: int = 200, body: bytes = b"ok") -> Exchange:
    return Exchange(request=asked, response=Response(status=status, body=body), timing=Timing(started_at=1.0, end=2.0))


def write_with_a_child(folder: Path, count: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(folder), str(count)], stdout=subprocess.PIPE, text=True, env={**os.environ}
    )


def test_exchanges_come_back_in_order_with_their_notes(tmp_path: Path) -> None:
    with History(tmp_path) as history:
        first = history.begin(request(b"\xff"))
        second = history.record(answered(request(b"2"), 400))
        history.note(first, "diagnosis", {"kind": "none"})
        history.finish(first, answered(request(b"\xff"), 201))
        history.note(first, "diagnosis", {"kind": "other"})
        history.note(second, "mark", [1])
        one, two = history
        assert (one.id, two.id) == (first, second)
        assert one.exchange == answered(request(b"\xff"), 201)
        assert one.notes == {"diagnosis": {"kind": "other"}}
        assert two.exchange.response is not None and two.exchange.response.status == 400
        assert two.notes == {"mark": [1]}
        assert history.get(second) == two
        assert history.get("none") is None
        assert [entry.id for entry in history.index()] == [first, second]
        assert load_exchanges(history.path) == [one.exchange, two.exchange]


def test_what_went_over_the_wire_is_kept_beside_what_was_asked_for(tmp_path: Path) -> None:
    with History(tmp_path) as history:
        asked = request()
        exchange_id = history.begin(asked)
        sent = request(headers=(("Host", "h"), ("Content-Length", "2")))
        history.finish(exchange_id, Exchange(request=sent, failure=Failure(kind="reset", message="Gone.")))
        recorded = history.get(exchange_id)
    assert recorded is not None and recorded.answered
    assert recorded.exchange.request == sent
    assert recorded.exchange.failure == Failure(kind="reset", message="Gone.")


def test_a_request_is_on_disk_before_its_answer(tmp_path: Path) -> None:
    with History(tmp_path) as history:
        history.begin(request(b"asked"))
    with History(tmp_path) as again:
        [recorded] = again
        assert not recorded.answered
        assert recorded.exchange.request.body == b"asked"
        again.finish(recorded.id, answered(request(b"asked")))
        [recorded] = again
        assert recorded.answered


def test_no_secret_is_on_disk(tmp_path: Path) -> None:
    asked = request(b'{"api_key": "body-key"}', headers=(("Authorization", f"Bearer {KEY}"),))
    with History(tmp_path, known_secrets={"OPENAI_API_KEY": KEY}) as history:
        history.record(answered(asked, 401, f"bad key {KEY}".encode()))
        assert history.secrets == {"OPENAI_API_KEY": KEY, "API_KEY": "body-key"}
        [recorded] = history
        text = history.path.read_text()
    assert KEY not in text and "body-key" not in text
    assert recorded.exchange.request.headers == (("Authorization", "Bearer {{secret:OPENAI_API_KEY}}"),)
    assert recorded.exchange.response is not None
    assert recorded.exchange.response.body == b"bad key {{secret:OPENAI_API_KEY}}"


def test_two_secrets_of_one_name_stay_apart_in_a_session(tmp_path: Path) -> None:
    with History(tmp_path) as history:
        for key in ("first-key", "second-key", "first-key"):
            history.begin(request(headers=(("X-Api-Key", key),)))
        names = [recorded.exchange.request.headers[0][1] for recorded in history]
        assert names == ["{{secret:X_API_KEY}}", "{{secret:X_API_KEY_2}}", "{{secret:X_API_KEY}}"]
        assert history.secrets == {"X_API_KEY": "first-key", "X_API_KEY_2": "second-key"}


def test_the_file_is_for_the_user_alone(tmp_path: Path) -> None:
    (tmp_path / "history.jsonl").touch(mode=0o644)
    with History(tmp_path) as history:
        assert stat.S_IMODE(history.path.stat().st_mode) == 0o600
    with History(tmp_path / "new" / "folder") as history:
        assert stat.S_IMODE(history.path.stat().st_mode) == 0o600
        assert stat.S_IMODE(history.path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("cut", [1, 5, 30])
def test_a_torn_last_line_is_kept_and_passed_over(tmp_path: Path, cut: int) -> None:
    with History(tmp_path) as history:
        first = history.record(answered(request(b"1")))
        torn = history.begin(request(b"2"))
    whole = history.path.read_bytes()
    history.path.write_bytes(whole[:-cut])
    with History(tmp_path) as again:
        assert [recorded.id for recorded in again] == ([first, torn] if cut == 1 else [first])
        third = again.record(answered(request(b"3")))
        assert [recorded.id for recorded in again][-1] == third
        assert len(list(again)) == (3 if cut == 1 else 2)
        assert again.path.read_bytes().startswith(whole[:-cut] + b"\n")
        offsets = (len(whole[:-cut].rpartition(b"\n")[0]) + 1,)
        assert again.damaged == (() if cut == 1 else offsets)


def test_lines_that_are_no_records_are_passed_over(tmp_path: Path) -> None:
    with History(tmp_path) as history:
        history.record(answered(request(b"1")))
        with open(history.path, "ab") as file:
            file.write(
                b'\x00\xff\n[]\n{"record":"answer","id":"unknown"}\n{"record":"later kind","id":"x"}\n' + b"[" * 5000
            )
        history.record(answered(request(b"2")))
        assert [recorded.exchange.request.body for recorded in history] == [b"1", b"2"]
        assert len(history.damaged) == 3


def test_killing_a_writer_leaves_a_readable_history(tmp_path: Path) -> None:
    child = write_with_a_child(tmp_path, -1)
    assert child.stdout is not None
    with child.stdout:
        told = 0
        while told < 5:
            told = int(child.stdout.readline())
        child.send_signal(signal.SIGKILL)
        rest = child.stdout.read().split()
    child.wait()
    told = int(rest[-1]) if rest else told
    with History(tmp_path) as history:
        history.record(answered(request(b"after")))
        recorded = list(history)
    complete = [item for item in recorded if item.answered]
    assert len(complete) >= told + 1
    assert recorded[-1].exchange.request.body == b"after"
    assert [item.exchange.request.body.rstrip(b"x") for item in recorded[:told]] == [
        str(number).encode() for number in range(told)
    ]


def test_two_writers_at_once_lose_nothing(tmp_path: Path) -> None:
    children = [write_with_a_child(tmp_path, 30) for _ in range(2)]
    for child in children:
        child.communicate()
        assert child.returncode == 0
    with History(tmp_path) as history:
        recorded = list(history)
        assert history.damaged == ()
    assert len(recorded) == 60
    assert all(item.answered for item in recorded)


def test_threads_of_one_process_lose_nothing(tmp_path: Path) -> None:
    with History(tmp_path) as history:
        with ThreadPoolExecutor(4) as pool:
            ids = list(pool.map(history.record, [answered(request(bytes([n]) * 5000)) for n in range(40)]))
        assert sorted(recorded.id for recorded in history if recorded.answered) == sorted(ids)
        assert history.damaged == ()


def test_a_full_disk_is_told_and_loses_nothing_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with History(tmp_path) as history:
        history.record(answered(request(b"1")))
        write = os.write
        calls = []

        def full(number: int, data: bytes) -> int:
            calls.append(data)
            if len(calls) == 1:
                return write(number, bytes(data)[:10])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(os, "write", full)
        with pytest.raises(HistoryError, match="No space left"):
            history.begin(request(b"2"))
        monkeypatch.undo()
        history.record(answered(request(b"3")))
        assert [recorded.exchange.request.body for recorded in history] == [b"1", b"3"]


def test_folders_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(HistoryError, match="cannot be used"):
        History(tmp_path / "file")
    with pytest.raises(HistoryError, match="cannot be used"):
        History(tmp_path / "file" / "inner")
    (tmp_path / "folder" / "history.jsonl").mkdir(parents=True)
    with pytest.raises(HistoryError, match=r"history\.jsonl cannot be used"):
        History(tmp_path / "folder")
    with pytest.raises(HistoryError, match="cannot be used"):
        History(Path("/proc/no-such-folder"))


def test_the_folder_is_named_by_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(STATE_VARIABLE, str(tmp_path / "state"))
    with History() as history:
        assert history.path == tmp_path / "state" / "history.jsonl"


def test_the_folder_is_the_users_without_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(STATE_VARIABLE, raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert state_folder() == tmp_path / "llmdebug"


def test_no_home_folder_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(uid: int) -> object:
        raise KeyError(uid)

    for name in (STATE_VARIABLE, "XDG_STATE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", nobody)
    with pytest.raises(HistoryError, match=STATE_VARIABLE):
        state_folder()


def test_a_closed_history_takes_nothing(tmp_path: Path) -> None:
    history = History(tmp_path)
    history.close()
    history.close()
    with pytest.raises(HistoryError, match="closed"):
        history.begin(request())


def test_notes_that_are_no_json_and_answers_to_nothing(tmp_path: Path) -> None:
    with History(tmp_path) as history:
        exchange_id = history.begin(request())
        with pytest.raises(HistoryError, match="cannot be kept"):
            history.note(exchange_id, "x", object())
        with pytest.raises(HistoryError, match="no request"):
            history.finish("unknown", answered(request()))
        assert len(list(history)) == 1
