"""What is told of tokenizers and tokens; these values cross from the tokenizer's process to llmdebug's."""

from __future__ import annotations

from typing import Any

import msgspec

TEXT = "t"
PART = "p"
"""Bytes of a character that its neighbours complete."""
BROKEN = "x"
"""Bytes that are no UTF-8 together with their neighbours."""
SPECIAL = "s"
OUTSIDE = "o"
"""An id that the tokenizer has no token for."""

MAX_TOKENS = 2_000_000
MAX_TEXT = 10_000_000
"""Bytes of one text: about MAX_TOKENS tokens, or more than can be shown, which take seconds and gigabytes."""


class TokenizerError(Exception):
    """A tokenizer cannot be had or used; the text is a sentence for the user."""


class NoAnswerError(TokenizerError):
    """The server's own tokenizer gives no answer at all: it need not be asked again."""


class NobodyCountsError(TokenizerError):
    """There is neither a local tokenizer nor a server that counts."""

    def __init__(self, why: str, *, silent: bool) -> None:
        """`silent`: the server was asked and gave no answer at all."""
        super().__init__(f"There is nothing to count tokens with. {why}")
        self.silent = silent


class Vocabulary(msgspec.Struct, frozen=True, kw_only=True):
    """A loaded tokenizer, in a few words."""

    name: str
    """As it was asked for."""
    place: str
    """The folder or file; for one from the hub its id."""
    kind: str
    """The algorithm, such as `BPE`, and how it treats bytes."""
    size: int
    """One more than the highest id."""
    holes: int = 0
    """Ids below `size` that no token has."""
    rows: int | None = None
    """Ids that the model itself has room for, of its config.json; often a few more than `size`."""
    limit: int | None = None
    """Tokens of the context."""
    limit_from: str = ""
    has_template: bool = False


class Cells(msgspec.Struct, frozen=True):
    """Tokens in columns, as there may be 100,000 of them."""

    ids: tuple[int, ...] = ()
    pieces: tuple[bytes, ...] = ()
    """What each token stands for; of an id without a token: nothing."""
    marks: str = ""
    """One letter a token: TEXT, PART, BROKEN, SPECIAL or OUTSIDE."""

    def __len__(self) -> int:
        return len(self.ids)

    def outside(self) -> tuple[int, ...]:
        """Positions of ids without a token."""
        found = []
        place = self.marks.find(OUTSIDE)
        while place >= 0:
            found.append(place)
            place = self.marks.find(OUTSIDE, place + 1)
        return tuple(found)


class Difference(msgspec.Struct, frozen=True):
    """The first place where what came back is not what went in."""

    position: int
    """Of a character or an id, from 0."""
    unit: str
    """`character` or `id`."""
    before: str
    after: str
    """What stood there and what stands there now; empty at an end, and where bytes are no text."""

    @property
    def told(self) -> str:
        """As a part of a sentence; what differs is quoted as it is."""
        quote = '"' if self.unit == "character" else ""
        before = f"{quote}{self.before}{quote}" if self.before else "the end"
        after = f"{quote}{self.after}{quote}" if self.after else "nothing"
        return f"{self.unit} {self.position} differs: {before} became {after}"


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """A text, its tokens, and what comes back when it is converted once more."""

    text: str
    cells: Cells
    difference: Difference | None = None
    """None where the way there and back changes nothing, or where it was not gone."""


class TemplateFault(msgspec.Struct, frozen=True, kw_only=True):
    """Why a chat template did not render."""

    message: str
    """What the template says, or what it does where it was stopped."""
    stopped: bool = False
    """Whether it would have gone on, rather than refused or failed itself."""
    unreadable: bool = False
    """Whether it is no template: it was not even begun with."""
    template: str = ""
    """Where the template stands: a file, with its name where it is one of several, or the request's own."""
    line: int | None = None
    """Of the template, from 1."""
    source: str = ""
    """That line."""
    index: int | None = None
    """Of the message it was about, in the conversation."""

    @property
    def told(self) -> str:
        """As a sentence without its end."""
        if self.stopped:
            return f"the chat template {self.message}"
        if self.unreadable:
            return f"the chat template cannot be read: {self.message}"
        return f"the chat template {'refuses' if self.line is not None else 'is not rendered'}: {self.message}"

    @property
    def place(self) -> str:
        """The line, where it is, and what it says, in one line; empty where nothing is known."""
        template = self.template or "the template"
        if self.line is not None:
            return f"line {self.line} of {template}: {self.source}"
        return self.template


class Chat(msgspec.Struct, frozen=True, kw_only=True):
    """What a chat template is given."""

    messages: list[Any]
    tools: list[Any] | None = None
    documents: list[Any] | None = None
    add_generation_prompt: bool = True
    continue_final_message: bool = False
    variables: dict[str, Any] = {}
    """`chat_template_kwargs` of the request."""


def first_text_difference(before: str, after: str) -> Difference | None:
    """None where both are the same."""
    place = _first_unlike(before, after)
    if place is None:
        return None
    return Difference(place, "character", before[place : place + 20], after[place : place + 20])


def first_id_difference(before: tuple[int, ...], after: tuple[int, ...]) -> Difference | None:
    """None where both are the same."""
    place = _first_unlike(before, after)
    if place is None:
        return None
    return Difference(place, "id", _ids(before[place : place + 5]), _ids(after[place : place + 5]))


def _ids(ids: tuple[int, ...]) -> str:
    return ", ".join(map(str, ids))


def _first_unlike(before: Any, after: Any) -> int | None:
    if before == after:
        return None
    for place, (one, other) in enumerate(zip(before, after, strict=False)):
        if one != other:
            return place
    return min(len(before), len(after))
