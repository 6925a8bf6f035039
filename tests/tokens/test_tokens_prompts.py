"""What of a body is a prompt."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmdebug.tokens.prompts import Budget, budget_of, prompts_of


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
        ({"prompt": [True, 1]}, []),
        ({"stop": "x", "n": 1}, []),
        ([1], []),
    ],
)
def test_prompts(body: Any, expected: list[tuple[str, str]]) -> None:
    assert [(prompt.pointer, prompt.form) for prompt in prompts_of(body)] == expected


def test_budgets() -> None:
    assert budget_of({"max_tokens": 5}) == Budget("/max_tokens", 5)
    assert budget_of({"sampling_params": {"max_new_tokens": 7}}) == Budget("/sampling_params/max_new_tokens", 7)
    assert budget_of({"max_tokens": True}) is None


@given(
    st.dictionaries(
        st.sampled_from(["prompt", "input_ids", "messages", "options"]), st.lists(st.integers() | st.text())
    )
)
def test_no_body_is_too_odd(body: dict[str, Any]) -> None:
    budget_of(body)
    assert all(prompt.pointer.startswith("/") for prompt in prompts_of(body))
