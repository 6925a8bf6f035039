from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmdebug.http.baseurl import join, route_candidates, split


@pytest.mark.parametrize(
    ("base", "route", "url"),
    [
        ("http://h:8000", "/v1/models", "http://h:8000/v1/models"),
        ("http://h:8000/", "/v1/models", "http://h:8000/v1/models"),
        ("http://h:8000/v1", "/v1/models", "http://h:8000/v1/models"),
        ("http://h:8000/v1/", "v1/models", "http://h:8000/v1/models"),
        ("http://h:8000/v1", "/models", "http://h:8000/v1/models"),
        ("https://gw/team/llm/v1", "/v1/chat/completions", "https://gw/team/llm/v1/chat/completions"),
        ("https://gw/a/v1", "/a/v1/x", "https://gw/a/v1/x"),
        ("https://gw/v1/v1", "/v1/x", "https://gw/v1/v1/x"),
        ("https://gw/v10", "/v1/x", "https://gw/v10/v1/x"),
        ("https://gw/v1?api-version=2", "/v1/x?y=1", "https://gw/v1/x?api-version=2&y=1"),
        ("http://h", "/", "http://h/"),
        ("http://h/v1", "", "http://h/v1"),
        ("http://h/v1", "/v1/models/", "http://h/v1/models/"),
        ("http://h/v1", "http://other/x", "http://other/x"),
    ],
)
def test_join(base: str, route: str, url: str) -> None:
    assert join(base, route) == url


@pytest.mark.parametrize(
    ("url", "base", "expected"),
    [
        ("http://h:1/v1/x?y=1", None, ("http://h:1", "/v1/x")),
        ("http://h:1", None, ("http://h:1", "/")),
        ("https://gw/team/v1/x", "https://gw/team/v1", ("https://gw/team/v1", "/v1/x")),
        ("https://gw/team/x", "https://gw/team", ("https://gw/team", "/x")),
        ("https://gw/teams/x", "https://gw/team", ("https://gw", "/teams/x")),
        ("https://other/team/x", "https://gw/team", ("https://other", "/team/x")),
        ("http://h/v1/models", "http://h/", ("http://h/", "/v1/models")),
    ],
)
def test_split(url: str, base: str | None, expected: tuple[str, str]) -> None:
    assert split(url, base) == expected


def test_what_a_server_behind_a_gateway_may_see() -> None:
    assert route_candidates("/team/v1/x") == ("/team/v1/x", "/v1/x", "/x")
    assert route_candidates("/") == ("/",)


@given(
    st.lists(st.sampled_from(["v1", "v2", "team", "llm"]), max_size=4),
    st.lists(st.sampled_from(["chat", "completions", "x"]), min_size=1, max_size=4),
)
def test_what_is_split_joins_again(base_segments: list[str], route_segments: list[str]) -> None:
    base = "/".join(["http://h", *base_segments])
    url = "/".join([base, *route_segments])
    found_base, route = split(url, base)
    assert found_base == base
    assert join(base, route) == url


def test_a_host_that_cannot_be_is_split_all_the_same() -> None:
    assert split("http://[::1/v1/models?a=b") == ("http://[::1", "/v1/models")
