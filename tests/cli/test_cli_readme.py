"""What README shows is what llmdebug does."""

from __future__ import annotations

import re
from pathlib import Path

from running import run

README = Path(__file__).parents[2] / "README.md"


def told(story: str) -> str:
    """The story without what differs from one run to the next."""
    story = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:8000", story)
    story = re.sub(r"\S+/llmdebug/demo/", "…/llmdebug/demo/", story)
    story = re.sub(r"\d+ ms", "12 ms", story)
    story = re.sub(r"cmpl-[0-9a-f]+", "cmpl-1", story)
    return re.sub(r'"created": \d+', '"created": 1700000000', story).strip()


async def test_the_story_in_readme_is_the_one_that_is_played() -> None:
    done = await run("demo", "--check")
    assert done.code == 0, done.err
    shown = re.search(r"<!-- story -->\n```text\n(.*?)\n```\n<!-- /story -->", README.read_text(), re.DOTALL)
    assert shown is not None
    assert shown[1] == told(done.out.decode())
