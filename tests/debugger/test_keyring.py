from __future__ import annotations

import pytest

from llmdebug.debugger.keyring import Keyring, KeyringError
from llmdebug.http.credentials import Credentials
from llmdebug.http.exchange import Exchange, Request
from llmdebug.http.keys import without_keys

KEY = "sk-0123456789"
HERE, THERE = "http://here.test:8000/v1/models", "https://there.test/v1/models"


def get(url: str, *headers: tuple[str, str], body: bytes = b"") -> Request:
    return Request(method="GET", url=url, headers=headers, body=body)


def test_a_secret_that_was_seen_at_one_host_goes_to_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = Keyring(Credentials(), "http://here.test:8000", print)
    seen = keys.redacted(Exchange(request=get(HERE, ("Authorization", f"Bearer {KEY}")))).request
    assert seen.headers == (("Authorization", "Bearer {{secret:AUTHORIZATION}}"),)
    assert keys.prepared(seen).headers == (("Authorization", f"Bearer {KEY}"),)
    elsewhere = get(THERE, *seen.headers)
    with pytest.raises(KeyringError, match=r"AUTHORIZATION, a key of another host, to there\.test"):
        keys.prepared(elsewhere)
    monkeypatch.setenv("AUTHORIZATION", "theirs")
    assert keys.prepared(elsewhere).headers == (("Authorization", "Bearer theirs"),)
    anywhere = Keyring(Credentials(), "http://here.test:8000", print, anywhere=True)
    anywhere.know({"AUTHORIZATION": KEY}, HERE)
    assert anywhere.prepared(elsewhere).headers == (("Authorization", f"Bearer {KEY}"),)


def test_a_secret_that_nobody_knows_is_told() -> None:
    keys = Keyring(Credentials(), None, print)
    with pytest.raises(KeyringError, match="needs NOBODY_KNOWS, a secret: set it"):
        keys.prepared(get(HERE, ("X-Key", "{{secret:NOBODY_KNOWS}}")))


def test_credentials_go_to_the_debugged_server_alone() -> None:
    told: list[str] = []
    given = Credentials(headers=(("Cookie", "sid=1"), ("X-Trace", "1")), api_key=KEY, api_key_name="MINE")
    keys = Keyring(given, "http://here.test:8000/v1", told.append)
    assert dict(keys.prepared(get(HERE)).headers) == {
        "Cookie": "sid=1", "X-Trace": "1", "Authorization": f"Bearer {KEY}"
    }  # fmt: skip
    assert (keys.prepared(get(THERE)).headers, len(told)) == ((("X-Trace", "1"),), 1)
    assert "The key for here.test:8000 is not sent to there.test" in told[0]
    with pytest.raises(KeyringError, match="MINE, a key of another host"):
        keys.prepared(get(THERE, ("X-Key", "{{secret:MINE}}")))


def test_a_secret_that_stands_by_its_name_in_a_text_is_not_filled_elsewhere() -> None:
    request = get(
        "http://h/{{secret:A}}?x=1&token=2", ("X-Plain", "a {{secret:B}}"), body=b'{"prompt": "{{secret:C}}", "n": 1}'
    )
    left, names = without_keys(request)
    assert left.url == "http://h/{{withheld:A}}?x=1"
    assert left.headers == (("X-Plain", "a {{withheld:B}}"),)
    assert left.body == b'{"prompt": "{{withheld:C}}", "n": 1}'
    assert set(names) == {"A", "B", "C", "token"}
