from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from llmdebug.http.exchange import Request
from llmdebug.recording.drafts import Drafts
from llmdebug.recording.folder import HistoryError

EDITED = Request(
    method="POST", url="http://h/", headers=(("Authorization", "Bearer sk-1"),), body=b'{"prompt": [1, 2,\n', name="n"
)


def test_a_draft_is_kept_for_each_session(tmp_path: Path) -> None:
    Drafts(tmp_path).save("http://h/v1?a=/../b", EDITED)
    Drafts(tmp_path).save("other", Request(method="GET", url="http://h/"))
    draft = Drafts(tmp_path).load("http://h/v1?a=/../b")
    assert draft is not None
    assert draft.session == "http://h/v1?a=/../b"
    assert draft.request.body == EDITED.body
    assert draft.request.headers == (("Authorization", "Bearer {{secret:AUTHORIZATION}}"),)
    assert Drafts(tmp_path).load("none") is None


def test_a_later_draft_replaces_and_a_sent_one_is_gone(tmp_path: Path) -> None:
    drafts = Drafts(tmp_path)
    drafts.save("s", EDITED)
    drafts.save("s", Request(method="GET", url="http://later/"))
    draft = drafts.load("s")
    assert draft is not None and draft.request.url == "http://later/"
    drafts.discard("s")
    drafts.discard("s")
    assert drafts.load("s") is None


def test_drafts_are_private_and_leave_nothing_beside(tmp_path: Path) -> None:
    Drafts(tmp_path).save("s", EDITED)
    [file] = (tmp_path / "drafts").iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert b"sk-1" not in file.read_bytes()


def test_a_failed_write_leaves_the_old_draft(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drafts = Drafts(tmp_path)
    drafts.save("s", EDITED)

    def fail(number: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(HistoryError, match="No space left"):
        drafts.save("s", Request(method="GET", url="http://later/"))
    monkeypatch.undo()
    draft = drafts.load("s")
    assert draft is not None and draft.request.body == EDITED.body
    assert len(list((tmp_path / "drafts").iterdir())) == 1


@pytest.mark.parametrize("damage", [b"", b"{", b'{"record":"note","id":"s","name":"n","at":1,"value":1}'])
def test_a_damaged_draft_is_told_and_kept(tmp_path: Path, damage: bytes) -> None:
    drafts = Drafts(tmp_path)
    drafts.save("s", EDITED)
    [file] = (tmp_path / "drafts").iterdir()
    file.write_bytes(damage)
    with pytest.raises(HistoryError, match="damaged"):
        drafts.load("s")
    assert file.read_bytes() == damage
