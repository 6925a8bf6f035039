"""The source of a running server, for commands that send nothing else."""

from __future__ import annotations

import asyncio
import os

from llmdebug.debugger.session import Session
from llmdebug.http.credentials import credentials
from llmdebug.index.build import Progress
from llmdebug.linking.linked import Linked
from llmdebug.linking.spec import AUTO


def link_of(base_url: str, progress: Progress) -> tuple[Linked, ...]:
    """Raises TreeError where it is not found."""
    return asyncio.run(_link_of(base_url, progress))


async def _link_of(base_url: str, progress: Progress) -> tuple[Linked, ...]:
    keys = credentials((), environment=os.environ)
    async with Session(base_url=base_url, sources=[AUTO], credentials=keys, keep=False) as session:
        await session.link_given(progress=progress)
        return session.trees.links
