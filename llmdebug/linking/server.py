"""What a server said of itself."""

from __future__ import annotations

from typing import Any

import msgspec

from llmdebug.families.family import Tokenize


class Server(msgspec.Struct, frozen=True, kw_only=True):
    """What a server said of itself. Texts are its own words: they may hold anything."""

    family: str = ""
    """A family's name; empty where none was recognised."""
    title: str = ""
    version: str = ""
    models: tuple[str, ...] = ()
    limits: dict[str, str] = {}
    """What is limited, and to how much."""
    flags: dict[str, Any] = {}
    """Settings that it was started with; secret ones without their value."""
    problem: str = ""
    """Why nothing is known, a sentence; empty where something is."""
    silent: bool = False
    """Whether it was asked and no answer came at all."""
    tokenizers: tuple[str, ...] = ()
    """Folders of the server's machine or Hugging Face ids that its tokenizer is of, the surest first."""
    tokenize: Tokenize | None = None
    """How it turns text into token ids itself."""
    openapi: Any = None
    """The JSON of its own description of its routes, whatever that is; None where it gives none."""

    @property
    def told(self) -> str:
        """Family and version for people; empty where nothing is known."""
        return f"{self.title or self.family} {self.version}".strip()
