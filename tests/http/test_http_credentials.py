from __future__ import annotations

import pytest

from llmdebug.http.credentials import CredentialsError, credentials, default_base_url
from llmdebug.http.exchange import Request

REQUEST = Request(method="GET", url="http://h/", headers=(("Accept", "a"), ("x-team", "1")))


def test_the_usual_variable_gives_a_bearer_token() -> None:
    found = credentials(environment={"OPENAI_API_KEY": " sk-1\n"})
    assert found.applied(REQUEST).headers == (*REQUEST.headers, ("Authorization", "Bearer sk-1"))
    assert found.secrets == {"OPENAI_API_KEY": "sk-1"}


def test_a_named_variable_wins_over_the_usual_one() -> None:
    found = credentials(api_key_env="MINE", environment={"OPENAI_API_KEY": "sk-1", "MINE": "sk-2"})
    assert found.applied(REQUEST).headers[-1] == ("Authorization", "Bearer sk-2")
    assert found.secrets == {"MINE": "sk-2"}


def test_a_header_by_hand_wins_and_replaces() -> None:
    found = credentials(["authorization: Basic x:y", "X-Team:2"], environment={"OPENAI_API_KEY": "sk-1"})
    assert found.applied(REQUEST).headers == (("Accept", "a"), ("authorization", "Basic x:y"), ("X-Team", "2"))


@pytest.mark.parametrize("name", ["Authorization", "x-api-key", "api-key"])
def test_a_request_with_its_own_key_gets_no_other(name: str) -> None:
    request = Request(method="GET", url="http://h/", headers=((name, "mine"),))
    found = credentials(environment={"OPENAI_API_KEY": "sk-1"})
    assert found.applied(request) == request


def test_nothing_in_the_environment_adds_nothing() -> None:
    found = credentials(environment={})
    assert found.applied(REQUEST) == REQUEST
    assert found.secrets == {}


@pytest.mark.parametrize("line", ["no colon", ": no name", ""])
def test_lines_that_are_no_headers(line: str) -> None:
    with pytest.raises(CredentialsError, match="Name: value"):
        credentials([line], environment={})


def test_a_named_variable_must_be_set() -> None:
    with pytest.raises(CredentialsError, match="MINE"):
        credentials(api_key_env="MINE", environment={"OPENAI_API_KEY": "sk-1"})


def test_base_url_of_the_environment() -> None:
    assert default_base_url({"OPENAI_BASE_URL": "http://h/v1", "OPENAI_API_BASE": "http://old"}) == "http://h/v1"
    assert default_base_url({"OPENAI_API_BASE": "http://old"}) == "http://old"
    assert default_base_url({"OPENAI_BASE_URL": ""}) is None
