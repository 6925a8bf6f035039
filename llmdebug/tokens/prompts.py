"""Where a request's body holds a prompt, and as what: a text, ids, or a conversation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from llmdebug.jsontext.pointer import join

Form = Literal["text", "ids", "chat"]

TEXT_KEYS = ("prompt", "text", "inputs", "input", "content", "query")
ID_KEYS = ("prompt", "input_ids", "prompt_token_ids", "tokens", "token_ids", "prompt_ids", "input", "inputs", "ids")
MAX_PROMPTS = 1_000
BUDGET_KEYS = ("max_tokens", "max_completion_tokens", "max_new_tokens", "n_predict", "num_predict")
BUDGET_FOLDERS = ("sampling_params", "parameters", "options")


class Prompt(msgspec.Struct, frozen=True, kw_only=True):
    """One prompt of a request."""

    pointer: str
    form: Form
    text: str = ""
    ids: tuple[int, ...] = ()
    problem: str = ""
    """Why a list that was meant as ids is none, as a sentence."""


class Budget(msgspec.Struct, frozen=True):
    """How many tokens are to be written, and where the request says so."""

    pointer: str
    tokens: int
    """As it stands there; also a number that is no count, such as the -1 which some servers take for "no end"."""

    @property
    def least(self) -> int:
        """So many at least are written: one, where the number is no count."""
        return self.tokens if self.tokens >= 0 else 1


def prompts_of(body: Any) -> list[Prompt]:
    """All prompts, in the order of the body; a conversation only where there is no other."""
    if not isinstance(body, dict):
        return []
    found: list[Prompt] = []
    for key, value in body.items():
        if key in TEXT_KEYS or key in ID_KEYS:
            found += _of_value(key, value)
    if isinstance(body.get("messages"), list) and not any(prompt.form == "text" for prompt in found):
        found.append(Prompt(pointer="/messages", form="chat"))
    return found[:MAX_PROMPTS]


def left_out(body: Any, found: Sequence[Prompt]) -> tuple[str, ...]:
    """Of each list of prompts how many of its entries are none of `found`, as sentences."""
    told = []
    read = {prompt.pointer for prompt in found}
    for key, value in body.items() if isinstance(body, dict) else ():
        pointer = join(key)
        if not isinstance(value, list) or pointer in read or not (key in TEXT_KEYS or key in ID_KEYS):
            continue
        missing = sum(f"{pointer}/{place}" not in read for place in range(len(value)))
        if missing:
            what = f"{missing:,} of the {len(value):,} entries of {pointer}"
            told.append(f"Not looked at: {what}; at most {MAX_PROMPTS:,} are, each a text or a list of ids.")
    return tuple(told)


def _of_value(key: str, value: Any) -> list[Prompt]:
    pointer = join(key)
    single = _single(key, value, pointer)
    if single is not None:
        return [single]
    if not isinstance(value, list):
        return []
    found = [_single(key, item, f"{pointer}/{place}") for place, item in enumerate(value[:MAX_PROMPTS])]
    return [prompt for prompt in found if prompt is not None]


def _single(key: str, value: Any, pointer: str) -> Prompt | None:
    if isinstance(value, str) and key in TEXT_KEYS:
        return Prompt(pointer=pointer, form="text", text=value)
    if is_ids(value) and key in ID_KEYS:
        return Prompt(pointer=pointer, form="ids", ids=tuple(value))
    if key in ID_KEYS and isinstance(value, list) and any(_is_number(item) for item in value):
        place = next(place for place, item in enumerate(value) if not _is_id(item))
        problem = f"position {place:,} holds {_named(value[place])}, which is no id: ids are whole numbers."
        return Prompt(pointer=pointer, form="ids", problem=problem)
    return None


def is_ids(value: Any) -> bool:
    """Whether a value is a list of integers, and not empty."""
    return isinstance(value, list) and set(map(type, value)) == {int}


def _is_id(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _named(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, float):
        return f"{value:g}"
    return "a text" if isinstance(value, str) else "a list" if isinstance(value, list) else "an object"


def budget_of(body: Any) -> Budget | None:
    """Where the request says how many tokens to write."""
    if not isinstance(body, dict):
        return None
    for folder in ("", *BUDGET_FOLDERS):
        holder = body.get(folder) if folder else body
        if not isinstance(holder, dict):
            continue
        for key in BUDGET_KEYS:
            value = holder.get(key)
            if isinstance(value, int) and not isinstance(value, bool):
                return Budget((f"/{folder}" if folder else "") + join(key), value)
    return None
