"""The way from the command line to the screen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from llmdebug.config.settings import Settings


def show_screen(
    settings: Settings,
    *,
    base_url: str | None = None,
    sources: Sequence[str] = (),
    file: str | None = None,
    client: Mapping[str, Any] | None = None,
    **opening: Any,
) -> int:
    """Runs it until the user leaves. `client` are fields of ClientOptions, `opening` other fields of Opening."""
    from llmdebug.tui.app import run

    times = {
        "connect_timeout_s": settings.connect_timeout_s,
        "first_byte_timeout_s": settings.first_byte_timeout_s,
        "total_timeout_s": settings.total_timeout_s,
    }
    return run(
        base_url=base_url,
        sources=tuple(sources),
        file=file,
        config=settings,
        record=settings.record,
        history_mb=settings.history_mb,
        probe=settings.probe,
        families=settings.family_folder,
        client={**times, **(client or {})},
        **opening,
    )
