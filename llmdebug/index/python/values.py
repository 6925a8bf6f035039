"""Values of a request as code sees them: known or not, and which parts of the request they came from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn


class Doubt(Exception):
    """An operation needs a value that nobody knows."""


class Doubtful:
    """Something inside a list, tuple or dict that Python's own operations can't be asked about.

    Operations may be carried out on the container; one that needs the element raises Doubt.
    """

    __slots__ = ()

    def _doubt(self, *_: object) -> NoReturn:
        raise Doubt

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _doubt
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __or__ = __ror__ = __and__ = __rand__ = _doubt
    __len__ = __iter__ = __contains__ = __getitem__ = __hash__ = __str__ = __repr__ = _doubt
    __int__ = __float__ = __index__ = __abs__ = __round__ = __neg__ = __format__ = _doubt


class _Unknown(Doubtful):
    """The value that nobody knows."""

    __slots__ = ()
    __bool__ = Doubtful._doubt


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


@dataclass(slots=True, eq=False, repr=False)
class Instance(Doubtful):
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


@dataclass(slots=True, eq=False, repr=False)
class Stream(Doubtful):
    """What an iterator or a dict's view gives, element by element."""

    items: list[Value]
    once: bool = True
    """Whether taking the elements uses it up."""
    taken: bool = False


class Row(tuple[Any, ...]):
    """A tuple that remembers where its elements came from."""

    parts: tuple[Value, ...]


Row.__name__ = "tuple"  # Python's own error texts quote the name


def row(parts: Iterable[Value]) -> Row:
    given = tuple(parts)
    made = Row(part.value for part in given)
    made.parts = given
    return made


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
