"""What of a body is a prompt."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmdebug.tokens.prompts import MAX_PROMPTS, Budget, budget_of, left_out, prompts_of


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"prompt": "a"}, [("/prompt", "text")]),
        ({"prompt": ["a", "b"]}, [("/prompt/0", "text"), ("/prompt/1", "text")]),
        ({"prompt": [1, 2]}, [("/prompt", "ids")]),
        ({"prompt": [[1], [2]]}, [("/prompt/0", "ids"), ("/prompt/1", "ids")]),
        ({"input_ids": [1]}, [("/input_ids", "ids")]),
        ({"prompt_token_ids": [1], "prompt": "a"}, [("/prompt_token_ids", "ids"), ("/prompt", "text")]),
        ({"messages": [{}]}, [("/messages", "chat")]),
        ({"prompt": [True, 1]}, [("/prompt", "ids")]),
        ({"prompt": [True, None], "input": [{}]}, []),
        ({"stop": "x", "n": 1}, []),
        ([1], []),
    ],
)
def test_prompts(body: Any, expected: list[tuple[str, str]]) -> None:
    assert [(prompt.pointer, prompt.form) for prompt in prompts_of(body)] == expected


@pytest.mark.parametrize(
    ("prompt", "pointer", "told"),
    [
        ([1, 2.5], "/prompt", "position 1 holds 2.5, which is no id"),
        (["1", 2], "/prompt", "position 0 holds a text"),
        ([1, True], "/prompt", "position 1 holds true"),
        ([[1], [2, None]], "/prompt/1", "position 1 holds null"),
        ([1, {}], "/prompt", "position 1 holds an object"),
    ],
)
def test_lists_that_were_meant_as_ids_tell_what_is_none(prompt: Any, pointer: str, told: str) -> None:
    *_, last = prompts_of({"prompt": prompt})
    assert (last.pointer, last.form, last.ids) == (pointer, "ids", ())
    assert last.problem.startswith(told)


def test_budgets() -> None:
    assert budget_of({"max_tokens": 5}) == Budget("/max_tokens", 5)
    assert budget_of({"sampling_params": {"max_new_tokens": 7}}) == Budget("/sampling_params/max_new_tokens", 7)
    assert budget_of({"max_tokens": True}) is None
    assert (Budget("/max_tokens", 5).least, Budget("/max_tokens", 0).least) == (5, 0)
    assert Budget("/max_tokens", -1).least == 1


@given(
    st.dictionaries(
        st.sampled_from(["prompt", "input_ids", "messages", "options"]),
        st.lists(st.integers() | st.text() | st.floats() | st.none()),
    )
)
def test_no_body_is_too_odd(body: dict[str, Any]) -> None:
    budget_of(body)
    assert all(prompt.pointer.startswith("/") for prompt in prompts_of(body))


def test_what_is_left_out_is_told() -> None:
    def told(body: Any) -> tuple[str, ...]:
        return left_out(body, prompts_of(body))

    assert told({"prompt": ["a", [1]], "input_ids": [1, 2], "messages": [{}]}) == told([1]) == ()
    end = "; at most 1,000 are, each a text or a list of ids."
    assert told({"prompt": ["a"] * (MAX_PROMPTS + 3)}) == (f"Not looked at: 3 of the 1,003 entries of /prompt{end}",)
    assert told({"prompt": ["a", {}, []]}) == (f"Not looked at: 2 of the 3 entries of /prompt{end}",)
