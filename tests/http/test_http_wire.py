from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmdebug.http.exchange import Headers, Request
from llmdebug.http.wire import UnsendableError, WireRequest, prepare, unsendable


@pytest.mark.parametrize(
    ("url", "host", "port", "target", "where"),
    [
        ("http://h", "h", 80, b"/", "h:80"),
        ("HTTPS://H.Example?x=1#y", "h.example", 443, b"/?x=1", "h.example:443"),
        ("http://[::1]:8000/a b?é", "::1", 8000, b"/a%20b?%C3%A9", "[::1]:8000"),
        ("http://bücher.example/", "xn--bcher-kva.example", 80, b"/", "xn--bcher-kva.example:80"),
        ("http://u:p@h:1/..//%2e/./", "h", 1, b"/..//%2e/./", "h:1"),
        ("http://h/\udcff\ud800", "h", 80, b"/%3F%3F", "h:80"),
        ("http://h/\udcff", "h", 80, b"/%FF", "h:80"),
        (" http://h/x ", "h", 80, b"/x", "h:80"),
    ],
)
def test_addresses(url: str, host: str, port: int, target: bytes, where: str) -> None:
    wire = prepare(Request(method="GET", url=url))
    assert (wire.host, wire.port, wire.target, wire.where) == (host, port, target, where)


def test_the_host_header_names_a_port_only_where_it_is_not_the_usual() -> None:
    def host(url: str) -> str:
        return prepare(Request(method="GET", url=url)).request.headers[0][1]

    assert host("http://h:80/") == "h"
    assert host("http://h:8080/") == "h:8080"
    assert host("https://[::1]:443/") == "[::1]"


def test_a_header_value_loses_the_blanks_around_it() -> None:
    """A key read from a file ends with a line feed."""
    wire = prepare(Request(method="GET", url="http://h/", headers=(("Authorization", "Bearer x\n"),)))
    assert ("Authorization", "Bearer x") in wire.request.headers


def test_no_password_is_told_in_a_message() -> None:
    with pytest.raises(UnsendableError) as told:
        prepare(Request(method="GET", url="ftp://me:s3cret@h/"))
    assert "s3cret" not in told.value.message


TEXT = st.text(alphabet=st.characters(), max_size=12)
URLS = st.one_of(TEXT, st.builds("http://{}:{}@{}:{}/{}".format, TEXT, TEXT, TEXT, st.integers(-1, 70000), TEXT))


@given(
    st.builds(
        Request,
        method=st.one_of(st.just("GET"), TEXT),
        url=st.one_of(st.just("http://h/"), URLS),
        headers=st.lists(st.tuples(st.one_of(st.just("X-a"), TEXT), TEXT), max_size=2).map(tuple),
        body=st.binary(max_size=3),
    )
)
def test_any_request_is_ready_or_cannot_be_sent(request: Request) -> None:
    try:
        wire = prepare(request)
    except UnsendableError as error:
        assert error.message.endswith(".")
        return
    assert isinstance(wire, WireRequest)
    assert wire.request.body == request.body
    assert b"\r" not in wire.target and b" " not in wire.target
    assert all("\n" not in value for _, value in wire.request.headers)


@given(
    st.sampled_from(["GET", "G T", ""]),
    st.text(alphabet="ab1.-:/[]@%?#_ \n\u00e9", max_size=14),
    st.sampled_from([(), (("A b", "1"),), (("A", "x\ny"),)]),
)
@settings(max_examples=500)
def test_what_cannot_be_sent_is_told_as_it_is_refused(method: str, rest: str, headers: Headers) -> None:
    request = Request(method=method, url=f"http://{rest}", headers=headers)
    told = ""
    try:
        prepare(request)
    except UnsendableError as error:
        told = error.message
    assert unsendable(request) == told
