"""Fields and kinds that plain words speak of."""

from __future__ import annotations

import pytest

from llmdebug.diagnosis.kinds import kind_of_text
from llmdebug.diagnosis.spoken import spoken_fields


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("model parameter is required", ["model"]),
        ("Missing `model` field in the request body.", ["model"]),
        ("file field missing", ["file"]),
        ("Missing required parameter: 'messages'.", ["messages"]),
        ("'input' is required", ["input"]),
        ("a required field is missing", []),
        ("missing field", []),
        ("the parameter is invalid", []),
        ("", []),
    ],
)
def test_fields(text: str, names: list[str]) -> None:
    assert list(dict.fromkeys(spoken_fields(text))) == names


@pytest.mark.parametrize(
    ("text", "status", "kind"),
    [
        ("Invalid model name passed in model=gpt-5. See the list.", 400, "model_not_found"),
        ("No model mistral are currently loaded.", 400, "model_not_found"),
        ("Invalid model: x", 404, "model_not_found"),
        ("Invalid model_config given", 400, "bad_value"),
        ("the input prompt token len 17500 + max_new_tokens 512 > 16384", 400, "context_length"),
        ("prompt list contains id > vocab_size", 400, "out_of_range"),
        ("`temperature` (=-1) has to be a strictly positive float", 400, "out_of_range"),
        ("size=9 is not in a valid range. Select between 1 and 8.", 400, "out_of_range"),
        ("Too many requests", 429, "other"),
        ("Request timed out", 408, "other"),
        ("Server is busy; please try again later.", 503, "other"),
        ("bad gateway", 502, "upstream"),
    ],
)
def test_kinds(text: str, status: int, kind: str) -> None:
    assert kind_of_text(text, status) == kind
