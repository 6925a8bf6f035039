"""What a family's file says. Each field is a key of the file; `docs` of the format are these docstrings."""

from __future__ import annotations

import msgspec


class Sign(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Something that an answer shows where a server is of the family; all that is given must hold."""

    get: str = ""
    """The path that is asked with GET; empty for a sign that an answer to any request may bear."""
    status: tuple[int, ...] = (200,)
    """The answer's status; empty for any."""
    headers: dict[str, str] = {}
    """Header to a pattern that is found in its value."""
    json: dict[str, str] = {}
    """JSON Pointer to a pattern that is found in the value there, written as text; `*` is any member."""
    body: str = ""
    """A pattern that is found in the body."""
    certainty: float = 1.0
    """How sure the sign is, in 0..1; the surest family is taken."""


class Place(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where something stands in the answer to a GET."""

    get: str
    json: str = ""
    """JSON Pointer; `*` is any member."""
    header: str = ""
    """The header it stands in, instead of the body."""
    pattern: str = ""
    """What of the text counts: its first group, or all that it matches."""
    name: str = ""
    """Of a limit: what it limits."""


class SourceOf(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What holds the family's source."""

    pypi: tuple[str, ...] = ()
    """Packages of the index, the commonest first."""
    git: str = ""
    """The repository's URL."""
    tag: str = "v{version}"
    """The tag of a version."""
    commit: str = ""
    """A pattern whose first group is the name of the commit, in versions that are no release."""
    inside: str = ""
    """The folder inside the repository that serves as the tree."""
    package: str = ""
    """The package to import, as it lies in an environment."""
    folder: str = ""
    """The folder inside the package that serves as the tree."""


class TokenRoute(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A route that takes token ids as they are."""

    path: str
    field: str
    """JSON Pointer of the ids."""


class Tokenize(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the server is asked to turn text into token ids and back, both with POST."""

    encode: str
    """The path."""
    decode: str = ""
    """The path for ids to text; empty where there is none."""
    text: str
    """The field that takes a text."""
    ids: str = "tokens"
    """The field that takes ids, and that holds them in the answer; the answer may be the list itself."""
    answer: str = ""
    """The field of the answer that holds the text of ids."""
    special: str = ""
    """The flag that adds what stands around a text; empty where there is none."""


class Family(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A family of servers."""

    name: str
    title: str
    """As people call it."""
    recognise: tuple[Sign, ...]
    """Any of these suffices."""
    errors: tuple[Sign, ...] = ()
    """What its refusals look like, for an answer of which nothing else is known."""
    version: tuple[Place, ...] = ()
    """The first that gives one counts; so for all lists of places but `limits`."""
    models: tuple[Place, ...] = ()
    limits: tuple[Place, ...] = ()
    flags: tuple[Place, ...] = ()
    """Objects whose plain members are the settings that the server was started with."""
    source: SourceOf = SourceOf()
    tokens: tuple[TokenRoute, ...] = ()
    tokenize: Tokenize | None = None
    tokenizer: tuple[Place, ...] = ()
    """Where the server says which folder or Hugging Face id its tokenizer is of, the surest first."""
