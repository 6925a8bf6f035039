"""More tokens than the model has room for: fewer of them to write, or a shorter prompt.

Counts come from the refusal where it gives them; a text is cut by its share of characters, with some to spare.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from llmdebug.diagnosis.locate import walk
from llmdebug.diagnosis.prompts import LONG_TEXT, of_prompt
from llmdebug.diagnosis.remedies.case import Case
from llmdebug.diagnosis.remedies.proposal import Proposal
from llmdebug.jsontext import pointer as pointers

SPARE = 0.85
"""Of the room that the numbers give, this share is used: tokens are not spread evenly over a text."""
ROOM = 16
"""Tokens left for the answer where the request does not say."""
DRASTIC = 200
"""Characters, or ids, that fit nearly any context."""
BUDGETS = re.compile(r"^max_(?:\w+_)?tokens$|^n_predict$|^num_predict$|^max_length$")
KEEP_START = frozenset({"input", "inputs", "documents", "query"})
"""Texts whose beginning tells more than their end; a prompt that is to be continued keeps its end."""
_LIMIT = re.compile(
    r"(?:maximum|context|limit|max_\w*len\w*|maximal|longest|window|allowed)(?:[\s_\-]\w+){0,5}?[\s:=('`]*?(?:is|of|to|<=|:|=)?\s*[(']?(\d[\d,_]*)"
    r"|(?:<=|less than|at most|up to|than)\s*(\d[\d,_]*)|(\d[\d,_]*)\s*(?:tokens?)?\s*(?:context|limit|maximum)",
    re.I,
)
_PROMPT = re.compile(
    r"(\d[\d,_]*)\s*(?:tokens?\s*)?(?:in the|of|from the|for the|in your)?\s*(?:text |prompt|input|messages?)"
    r"|(?:prompt|input|messages?|inputs)\W+(?:\w+\W+){0,6}?(\d[\d,_]*)",
    re.I,
)
_GOT = re.compile(r"\bgot:?\s*(-\d[\d,_]*)")
_NUMBER = re.compile(r"(?<![\w.])\d[\d,_]*(?![\w.]*\d)")


@dataclass(frozen=True, slots=True)
class Counts:
    """What the refusal counts, in tokens; None where it does not say."""

    limit: int | None
    prompt: int | None
    over: int | None
    """How many too many."""


def shortened(case: Case) -> list[Proposal]:
    """Fewer tokens to write; a shorter prompt; older messages left out."""
    budget = budget_of(case.body)
    counts = read_counts(case, budget)
    found = _less_to_write(case, budget, counts)
    target = of_prompt(case.body)
    blamed = [p for p in case.present if p != (budget[0] if budget else "")]
    pointer = next((p for p in blamed if isinstance(case.value(p), str | list)), target)
    if pointer is None:
        return found
    share = _share(case, pointer, budget, counts)
    found += _older_left_out(case, share)
    long = len(case.value(pointer)) > DRASTIC / 4 if isinstance(case.value(pointer), str) else True
    found += [_cut(case, pointer, share, 0.8), _cut(case, pointer, _drastic(case, pointer), 0.75)] if long else []
    return [proposal for proposal in found if proposal.bodies[0] != case.body]


def overfull(case: Case) -> list[Proposal]:
    """Where a token budget is complained of that the request does not give so: the prompt fills the context."""
    got = _GOT.search(case.text)
    return shortened(case) if got is not None and re.search(r"tokens?\b", case.text) else []


def budget_of(body: Any) -> tuple[str, int] | None:
    """Where the request says how many tokens to write."""
    for place, value in walk(body):
        name = place.rpartition("/")[2]
        if BUDGETS.match(name) and isinstance(value, int) and not isinstance(value, bool) and place.count("/") <= 2:
            return place, value
    return None


def read_counts(case: Case, budget: tuple[str, int] | None) -> Counts:
    """The counts in the text."""
    text = case.text
    numbers = [_int(m[0]) for m in _NUMBER.finditer(text)][:24]
    asked = budget[1] if budget else None
    limit = next((_int(next(g for g in m.groups() if g)) for m in _LIMIT.finditer(text)), None)
    others = [n for n in numbers if n != asked]
    if limit is None and others:
        limit = min(others) if len(others) > 1 else others[0]
    if limit is not None and limit <= 2:
        limit = None
    prompts = [_int(m[1] or m[2]) for m in _PROMPT.finditer(text)]
    prompt = next((n for n in prompts if n not in (limit, asked)), None)
    if prompt is None and limit is not None and asked is not None:
        prompt = next((n - asked for n in numbers if n - asked in numbers or (n > limit and n - asked > 0)), None)
    if prompt is None and limit is not None and asked is None:
        prompt = next((n for n in sorted(numbers, reverse=True) if n > limit), None)
    got = _GOT.search(text)
    return Counts(limit, prompt, 1 - _int(got[1]) if got else None)


def _int(text: str) -> int:
    return int(text.replace(",", "").replace("_", "")[:18])


def _less_to_write(case: Case, budget: tuple[str, int] | None, counts: Counts) -> list[Proposal]:
    if budget is None:
        return []
    pointer, asked = budget
    if counts.limit is not None and counts.prompt is not None:
        room = counts.limit - counts.prompt
        if not 0 < room < asked:
            return []
        why = f"The context has {counts.limit} tokens, the prompt takes {counts.prompt}."
        return [Proposal(f"set {pointer} to {room}", why, (case.changed(pointer, room),), 0.93, 0.9)]
    if asked <= ROOM:
        return []
    found = [
        Proposal(
            f"set {pointer} to {ROOM}",
            "Fewer tokens to write leave more room.",
            (case.changed(pointer, ROOM),),
            0.6,
            0.7,
        )
    ]
    if counts.limit is not None and counts.limit // 2 < asked:
        half = counts.limit // 2
        body = case.changed(pointer, half)
        found.insert(0, Proposal(f"set {pointer} to {half}", "It is half of the context.", (body,), 0.7, 0.85))
    return found


def _share(case: Case, pointer: str, budget: tuple[str, int] | None, counts: Counts) -> float:
    """The share of the prompt that fits."""
    value = case.value(pointer)
    ids = is_ids(value)
    size = len(value) if ids else max(1, _characters(case.body)) / 4
    prompt = counts.prompt or (len(value) if ids else None)
    room_for_answer = min(budget[1] if budget else ROOM, (counts.limit or 64) // 2)
    if counts.over is not None:
        prompt = prompt or max(int(size), counts.over + ROOM)
        return max(0.02, (prompt - counts.over - room_for_answer) / prompt * SPARE)
    if counts.limit is None:
        return 0.5
    fitting = counts.limit - room_for_answer
    if prompt is None:
        prompt = max(int(size), counts.limit)
    return min(0.95, max(0.02, fitting / prompt * (1.0 if ids else SPARE)))


def _characters(body: Any) -> int:
    """Of the prompt, whatever holds it."""
    if not isinstance(body, dict):
        return 0
    return sum(len(v) for key in LONG_TEXT if key in body for _, v in walk(body[key]) if isinstance(v, str))


def is_ids(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, int) for item in value[:50])


def _drastic(case: Case, pointer: str) -> float:
    value = case.value(pointer)
    return min(0.2, DRASTIC / max(1, len(value))) if isinstance(value, str | list) else 0.2


def _cut(case: Case, pointer: str, share: float, odds: float) -> Proposal:
    """The text or list cut to a share of it."""
    value = case.value(pointer)
    start = pointers.parse(pointer)[0] in KEEP_START
    made = cut(value, share, start)
    unit = "ids" if is_ids(value) else "characters" if isinstance(made, str) else "elements"
    end = "first" if start else "last"
    title = f"keep the {end} {len(made) if isinstance(made, str | list) else ''} {unit} of {pointer}"
    why = f"About {round(100 * share)} % of it fits into the context."
    return Proposal(title, why, (case.changed(pointer, made),), odds, 0.45 + 0.35 * share)


def cut(value: Any, share: float, start: bool) -> Any:
    """A share of a text, of ids, or of the longest text inside."""
    if isinstance(value, str):
        keep = max(1, int(len(value) * share))
        return _at_word(value, keep, start)
    if is_ids(value):
        keep = max(1, int(len(value) * share))
        return value[:keep] if start else value[-keep:]
    if isinstance(value, list):
        return [cut(item, share, start) for item in value]
    if isinstance(value, dict):
        return {key: cut(item, share, start) if key in {"content", "text"} else item for key, item in value.items()}
    return value


def _at_word(text: str, keep: int, start: bool) -> str:
    """So many characters, cut between two words where one ends near."""
    if start:
        kept = text[:keep]
        space = kept.rfind(" ", max(0, len(kept) - 40))
        return kept[:space] if space > 0 else kept
    kept = text[-keep:]
    space = kept.find(" ", 0, 40)
    return kept[space + 1 :] if 0 <= space < len(kept) - 1 else kept


def _older_left_out(case: Case, share: float) -> list[Proposal]:
    """The conversation without its oldest turns; what the system said stays, and so does the last message."""
    messages = case.body.get("messages") if isinstance(case.body, dict) else None
    if not isinstance(messages, list) or len(messages) < 3:
        return []
    sizes = [_size(message) for message in messages]
    target = sum(sizes) * share
    left, gone_places = sum(sizes), set()
    for place, message in enumerate(messages[:-1]):
        if left <= target:
            break
        if not (isinstance(message, dict) and message.get("role") in ("system", "developer")):
            gone_places.add(place)
            left -= sizes[place]
    kept = [place for place in range(len(messages)) if place not in gone_places]
    first = next((i for i, place in enumerate(kept[:-1]) if not _answers(messages[place])), len(kept) - 1)
    kept = kept[first:]
    if len(kept) == len(messages) or left > target * 1.1:
        return []
    gone = len(messages) - len(kept)
    body = case.changed("/messages", [messages[i] for i in kept])
    why = f"The newest {len(kept)} messages fit into the context."
    return [Proposal(f"leave out the {gone} oldest messages", why, (body,), 0.85, 0.8)]


def _size(message: Any) -> int:
    return sum(len(value) for _, value in walk(message) if isinstance(value, str))


def _answers(message: Any) -> bool:
    """Whether a message answers one that may be gone: it cannot begin a conversation."""
    return isinstance(message, dict) and message.get("role") in ("assistant", "tool")
