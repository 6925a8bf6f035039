"""Redirects: where they lead, and what is offered: a request to the same server, advice for another one."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmdebug.diagnosis.diagnose import diagnose
from llmdebug.diagnosis.verdict import Diagnosis
from llmdebug.http.exchange import Exchange, Request, Response
from llmdebug.index.build import open_index
from llmdebug.source.tree import open_tree

ASKED = "http://host:8000/v1/chat/"


def told(
    location: str | None, *, status: int = 307, url: str = ASKED, body: bytes = b'{"n": 1}', tree: Path | None = None
) -> Diagnosis:
    headers = (("Location", location),) if location is not None else ()
    request = Request(method="POST", url=url, headers=(("Content-Type", "application/json"),), body=body)
    exchange = Exchange(request=request, response=Response(status=status, headers=headers))
    return diagnose(exchange, [open_index(open_tree(tree), keep=False)] if tree is not None else [])


@pytest.mark.parametrize(
    ("location", "url", "kind"),
    [
        ("/v1/chat", "http://host:8000/v1/chat", "no_route"),
        ("http://host:8000/v1/chat", "http://host:8000/v1/chat", "no_route"),
        ("../x?y=1", "http://host:8000/v1/x?y=1", "no_route"),
        ("https://host/v1/chat/", "https://host/v1/chat/", "other"),
        ("https://HOST:8443/v1/chat/", "https://HOST:8443/v1/chat/", "other"),
    ],
)
@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_the_request_to_the_same_server_is_offered(location: str, url: str, kind: str, status: int) -> None:
    found = told(location, status=status)
    assert found.kind == kind
    (remedy,) = found.remedies
    (request,) = remedy.requests
    assert (request.method, request.url, request.body) == ("POST", url, {"n": 1})
    assert request.headers == {"Content-Type": "application/json"}


def test_a_see_other_is_a_get_without_a_body() -> None:
    request = told("/jobs/1", status=303).remedies[0].requests[0]
    assert (request.method, request.url, request.body) == ("GET", "http://host:8000/jobs/1", None)


@pytest.mark.parametrize(
    "location",
    [
        "http://elsewhere/v1/chat",
        "//elsewhere/v1/chat",
        "http://host:9000/v1/chat",
        "http://host:8000@elsewhere/v1/chat",
        "http://me@host:8000/v1/chat",
    ],
)
def test_another_server_is_shown_and_nothing_is_sent_there(location: str) -> None:
    found = told(location)
    assert "which is another server" in found.summary and found.kind == "other"
    (remedy,) = found.remedies
    assert not remedy.requests and "base URL" in remedy.why


def test_from_tls_nothing_is_offered_without_it() -> None:
    assert not told("http://host/v1/chat", url="https://host/v1/chat/").remedies[0].requests


@pytest.mark.parametrize(
    ("location", "said"),
    [
        (None, "is redirected without saying where to"),
        ("", "is redirected without saying where to"),
        ("http://[broken/", "which is no address"),
        ("file:///etc/passwd", "which is no address"),
        ("http://host:99999/x", "which is no address"),
        (ASKED, "is redirected to itself"),
    ],
)
def test_what_leads_nowhere_offers_nothing(location: str | None, said: str) -> None:
    found = told(location)
    assert said in found.summary and not found.remedies


def test_a_body_that_is_no_json_is_not_lost() -> None:
    (remedy,) = told("/v1/chat", body=b"a=1").remedies
    assert not remedy.requests and "The body is no JSON" in remedy.why


def test_the_tree_tells_what_is_registered_there(tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text("@app.post('/v1/chat')\ndef chat(): ...\n")
    found = told("/v1/chat", tree=tmp_path)
    assert [(site.file, site.line) for site in found.sites] == [("server.py", 1)]
    assert not told("http://elsewhere/v1/chat", tree=tmp_path).sites


@given(st.text(max_size=40), st.sampled_from([301, 302, 303, 307, 308]), st.text(max_size=20))
def test_no_location_is_too_odd(location: str, status: int, path: str) -> None:
    found = told(location, status=status, url=f"http://host/{path}")
    assert "redirected" in found.summary and found.trail[-1].step == "verdict"
    assert all(
        request.url.startswith(("http://host", "https://host")) for r in found.remedies for request in r.requests
    )
