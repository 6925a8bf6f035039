"""What the server is started with."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """The server's flags; each field is the flag of the same name with dashes."""

    served_model_name: str = "alice"
    max_model_len: int = 256
    """Tokens of prompt and completion together."""
    api_key: str | None = None
    """Routes under /v1 ask for it as a bearer token; None: they ask for nothing."""
    tool_call_parser: str | None = None
    """Which of `tool_parsers.TOOL_CALL_PARSERS` reads tool calls from the text; None: no tools."""
    enable_tokenizer_info_endpoint: bool = False
    max_body_bytes: int = 1_000_000
    token_interval: float = 0.0
    """Seconds between two tokens, to see a stream run."""
