"""llmdebug: a terminal debugger for LLM servers."""

__version__ = "0.1.0"
