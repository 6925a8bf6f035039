"""The refusals of a replay by the place that refused: `412 refused at serving_chat.py:88`."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from llmdebug.debugger.attempts import Attempt


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """Refusals, or failures, of one cause."""

    place: str
    """`file:line` in the server's source; empty where it is not known."""
    told: str
    """What the first of them says."""
    kind: str
    """Of the diagnosis, or of the failure; empty where neither is known."""
    status: int | None
    """None: no answer came."""
    steps: tuple[int, ...]
    """From 0, in order."""

    @property
    def title(self) -> str:
        """One line for the user."""
        count = f"{len(self.steps):,}"
        if self.status is None:
            return f"{count} without an answer ({self.kind}): {self.told}"
        refused = "refused" if self.status >= 300 else f"refused inside a {self.status}"
        if self.place:
            return f"{count} {refused} at {self.place}: {self.told}"
        status = f" with {self.status}" if self.status >= 300 else ""
        return f"{count} {refused}{status}: {self.told}"


def groups_of(attempts: Iterable[Attempt]) -> tuple[Group, ...]:
    """The largest first. Without a diagnosis, refusals that say the same of the same status belong together."""
    found: dict[tuple[str, str, int | None], list[Attempt]] = {}
    for attempt in attempts:
        if attempt.outcome != "answered":
            found.setdefault(_key(attempt), []).append(attempt)
    groups = [_group(members) for members in found.values()]
    return tuple(sorted(groups, key=lambda group: (-len(group.steps), group.steps)))


def _key(attempt: Attempt) -> tuple[str, str, int | None]:
    if attempt.outcome == "no_answer":
        return "", attempt.row.failure, None
    place = attempt.judged.sites[0] if attempt.judged is not None and attempt.judged.sites else ""
    return place, "" if place else attempt.told, attempt.row.status


def _group(members: list[Attempt]) -> Group:
    first = members[0]
    place, _, status = _key(first)
    kind = first.row.failure if status is None else first.judged.kind if first.judged is not None else ""
    return Group(place=place, told=first.told, kind=kind, status=status, steps=tuple(member.step for member in members))
