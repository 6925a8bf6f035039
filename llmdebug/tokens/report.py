"""What is known of the tokens of one request."""

from __future__ import annotations

import msgspec

from llmdebug.tokens.prompts import Budget, Prompt
from llmdebug.tokens.values import Difference, Reading, TemplateFault, Vocabulary


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
        return longest.count + (self.budget.tokens if self.budget else 1) - self.limit
