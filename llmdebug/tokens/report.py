"""What is known of the tokens of one request."""

from __future__ import annotations

import msgspec

from llmdebug.tokens.prompts import Budget, Prompt
from llmdebug.tokens.values import BROKEN, Difference, Reading, TemplateFault, Vocabulary

MAX_POSITIONS = 8
"""Ids out of the vocabulary that are named."""


class PromptTokens(msgspec.Struct, frozen=True, kw_only=True):
    """One prompt of a request and what is known of its tokens; without `reading`, why there is none."""

    prompt: Prompt
    """Its pointer leads to what is to blame where there is a fault or a problem."""
    reading: Reading | None = None
    fault: TemplateFault | None = None
    problem: str = ""
    server: Difference | None = None
    """Where the server's own tokens differ from the local ones."""
    notes: tuple[str, ...] = ()

    @property
    def count(self) -> int | None:
        return len(self.reading.cells) if self.reading is not None else None

    @property
    def outside(self) -> tuple[int, ...]:
        """Positions of ids out of the vocabulary."""
        return self.reading.cells.outside() if self.reading is not None else ()

    @property
    def broken(self) -> int | None:
        """The position from which on ids stand for broken UTF-8; None where all are text."""
        place = self.reading.cells.marks.find(BROKEN) if self.reading is not None else -1
        return place if place >= 0 else None

    @property
    def outside_told(self) -> str:
        """These ids with their positions, as a part of a sentence; few of many."""
        ids, places = self.reading.cells.ids if self.reading is not None else (), self.outside
        shown = ", ".join(f"{ids[place]} at position {place}" for place in places[:MAX_POSITIONS])
        return shown + (f" and {len(places) - MAX_POSITIONS:,} more" if len(places) > MAX_POSITIONS else "")


class TokenReport(msgspec.Struct, frozen=True, kw_only=True):
    """The tokens of a request."""

    vocabulary: Vocabulary | None = None
    """None where the server itself was asked."""
    prompts: tuple[PromptTokens, ...] = ()
    budget: Budget | None = None
    """How many tokens are to be written."""
    limit: int | None = None
    """Tokens of the context."""
    limit_from: str = ""
    notes: tuple[str, ...] = ()
    """What of the request is not told here."""

    @property
    def longest(self) -> PromptTokens | None:
        """The prompt with most tokens: it decides about the context."""
        counted = [prompt for prompt in self.prompts if prompt.count is not None]
        return max(counted, key=lambda prompt: prompt.count or 0, default=None)

    @property
    def over(self) -> int | None:
        """Tokens that the longest prompt and what is to be written have too many; negative: room that is left.

        None where a number is not known. One token at least is written.
        """
        longest = self.longest
        if longest is None or longest.count is None or self.limit is None:
            return None
        return longest.count + (self.budget.least if self.budget else 1) - self.limit

    def counted(self, prompt: PromptTokens) -> str:
        """The count of a prompt's tokens and its share of the context, with what is to be written."""
        count = prompt.count or 0
        told = f"{count:,} token{'' if count == 1 else 's'}"
        if self.limit is None:
            return told
        source = f" ({self.limit_from})" if self.limit_from else ""
        told += f", {count / self.limit:.1%} of the context of {self.limit:,}{source}"
        left = self.limit - count
        if self.budget is not None and self.budget.tokens < 0:
            told += f"; {self.budget.pointer} is {self.budget.tokens:,}, which is no number of tokens"
            return told + (
                f": {left:,} are left to be written" if left > 0 else f": {1 - left:,} too many to write one"
            )
        if self.budget is not None:
            total = count + self.budget.tokens
            over = total - self.limit
            return f"{told}; with {self.budget.pointer} {total:,}: " + (f"{over:,} too many" if over > 0 else "fits")
        return told if left > 0 else f"{told}; {1 - left:,} too many to write one token"
