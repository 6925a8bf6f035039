"""How a source is named: a folder, `pypi:NAME==VERSION`, `git:URL@TAG` (`#folder` names one inside), or `auto`.

This module is on the way of every start: it imports nothing heavy.
"""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from llmdebug.source.tree import TreeError

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+!_-]*")
_REF = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._/+-]*")
_GIT_URL = re.compile(r"(?:https?|ssh|git)://[^\s/@]*(?:@[^\s/@]+)?(?:/[^\s]*)?|file:///[^\s]+")
MAX_LENGTH = 1_000
AUTO = "auto"
"""The source of what runs behind the server's URL, wherever it is found."""


class SourceError(TreeError):
    """A source that cannot be had; the text is a sentence for the user."""


class Spec(msgspec.Struct, frozen=True, kw_only=True):
    """A source that is fetched once and kept: a package of an index, or a commit of a repository."""

    scheme: Literal["pypi", "git"]
    name: str
    """The package's name in lower case with dashes, or the repository's URL."""
    version: str
    """The package's version, or the tag, branch or commit."""
    inside: str = ""
    """The folder inside that serves as the tree; empty for all of it."""

    @property
    def base(self) -> str:
        """The source as it is fetched and kept, whatever folder of it is used."""
        return f"{self.scheme}:{self.name}{'==' if self.scheme == 'pypi' else '@'}{self.version}"

    @property
    def shown(self) -> str:
        """As `base`, without the credentials that a URL may hold: what is kept, compared and told."""
        return without_credentials(self.base)

    def __str__(self) -> str:
        return f"{self.shown}#{self.inside}" if self.inside else self.shown


def needs_fetching(source: object) -> bool:
    """Whether a source is named by something else than a folder."""
    return isinstance(source, str) and (source == AUTO or source.startswith(("pypi:", "git:")))


def parse_spec(text: str) -> Spec | None:
    """None for a folder. Raises SourceError for a source that is named wrongly."""
    scheme, _, rest = text.partition(":")
    if not needs_fetching(text) or text == AUTO:
        return None
    if len(text) > MAX_LENGTH or not text.isprintable():
        raise SourceError("A source is named in one line of at most 1,000 characters.")
    rest, _, inside = rest.partition("#")
    if inside.startswith("/") or ".." in inside.split("/"):
        raise SourceError(f"{text}: the folder behind # lies inside the source: name it without .. and first slash.")
    found = _package(text, rest) if scheme == "pypi" else _repository(text, rest)
    return msgspec.structs.replace(found, inside=inside.strip("/"))


def without_credentials(url: str) -> str:
    """A URL without user and password; the user of an ssh URL is part of its address."""
    return re.sub(r"(?<=(?<!ssh)://)[^/@\s]*@", "", re.sub(r"(ssh://[^/@:\s]*):[^/@\s]*@", r"\1@", url))


def normal_name(name: str) -> str:
    """A package's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _package(text: str, rest: str) -> Spec:
    name, equals, version = (part.strip() for part in rest.partition("=="))
    if not equals or not _NAME.fullmatch(name) or not _VERSION.fullmatch(version):
        raise SourceError(f"{text}: a package is named with its exact version, pypi:NAME==VERSION.")
    return Spec(scheme="pypi", name=normal_name(name), version=version)


def _repository(text: str, rest: str) -> Spec:
    url, at, ref = rest.rpartition("@")
    if not at or not _GIT_URL.fullmatch(url) or not _REF.fullmatch(ref) or ".." in ref:
        raise SourceError(
            f"{text}: a repository is named with its tag, branch or commit, git:URL@TAG, where URL begins with "
            "https://, http://, ssh://, git:// or file:///."
        )
    return Spec(scheme="git", name=url, version=ref)
