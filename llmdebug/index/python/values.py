"""Values of a request as code sees them: known or not, and which parts of the request they came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final


class _Unknown:
    """The value that nobody knows."""

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN: Final = _Unknown()
NOTHING: Final[frozenset[str]] = frozenset()


@dataclass(frozen=True, slots=True)
class Value:
    """A value and the pointers of the request that it was made from."""

    value: Any = UNKNOWN
    reads: frozenset[str] = NOTHING
    pointer: str | None = None
    """Where in the request the value itself stands; None for one that was computed."""

    @property
    def known(self) -> bool:
        return self.value is not UNKNOWN


NOT_KNOWN: Final = Value()


@dataclass(slots=True, eq=False)
class Instance:
    """An object whose attributes are taken from the request."""

    fields: Mapping[str, Value]
    """Attributes that are known."""
    class_name: str = ""
    file: str = ""
    pointer: str | None = None
    closed: bool = False
    """Whether an attribute that is not listed is surely unknown rather than looked up by name."""
    changed: dict[str, Value] = field(default_factory=dict)
    """Attributes set since."""

    def get(self, name: str) -> Value | None:
        return self.changed.get(name) or self.fields.get(name)


class Crash(Exception):
    """The code under study raises by itself: an operation that its value does not have."""

    def __init__(self, error: Exception, line: int, reads: frozenset[str]) -> None:
        super().__init__(str(error))
        self.error = error
        self.line = line
        self.reads = reads


class Stop(Exception):
    """The study took more steps than it may."""


def join(*values: Value) -> frozenset[str]:
    """The reads of several values."""
    return frozenset().union(*(v.reads for v in values))
