"""Reading the families: the shipped ones, then the user's own, of which one with a shipped name replaces it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from llmdebug.families.family import Family, Place, Sign
from llmdebug.jsontext.pointer import PointerError, parse

SHIPPED = Path(__file__).parent
MAX_BYTES = 200_000
MAX_FILES = 200
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")


class FamilyError(ValueError):
    """A family's file cannot be used; the text is a sentence with the file and the key."""


@dataclass(frozen=True, slots=True)
class Families:
    """All families by name."""

    by_name: dict[str, Family] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    """Of the user's own files, a sentence for each that is not used."""


def load_families(folder: Path | None = None) -> Families:
    """`folder` holds the user's own. Raises FamilyError for a shipped file only, which is a bug."""
    found = {family.name: family for family in map(read_family, sorted(SHIPPED.glob("*.toml")))}
    problems: list[str] = []
    for path in _files(folder, problems):
        try:
            family = read_family(path)
        except FamilyError as error:
            problems.append(str(error))
        else:
            found[family.name] = family
    return Families(found, tuple(problems))


def read_family(path: Path) -> Family:
    """Raises FamilyError."""
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise FamilyError(f"{path}: the file is larger than {MAX_BYTES:,} bytes.")
        family = msgspec.convert(tomllib.loads(data.decode()), Family)
    except OSError as error:
        raise FamilyError(f"{path}: the file cannot be read: {error.strerror or error}.") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise FamilyError(f"{path}: it is no TOML: {error}.") from error
    except msgspec.ValidationError as error:
        raise FamilyError(f"{path}: {error}.") from error
    for problem in _problems(family):
        raise FamilyError(f"{path}: {problem}.")
    return family


def _files(folder: Path | None, problems: list[str]) -> list[Path]:
    if folder is None:
        return []
    try:
        found = sorted(path for path in folder.iterdir() if path.suffix == ".toml" and path.is_file())
    except FileNotFoundError:
        return []
    except OSError as error:
        problems.append(f"{folder}: the families there cannot be read: {error.strerror or error}.")
        return []
    if len(found) > MAX_FILES:
        problems.append(f"{folder}: only the first {MAX_FILES} families are read.")
    return found[:MAX_FILES]


def _problems(family: Family) -> Iterator[str]:
    if not _NAME.fullmatch(family.name):
        yield f"name: {family.name!r} is no name; take small letters, digits, dots and dashes"
    for key, signs in (("recognise", family.recognise), ("errors", family.errors)):
        for number, sign in enumerate(signs):
            yield from (f"{key}[{number}].{problem}" for problem in _of_sign(sign, asked=key == "recognise"))
    places = {key: getattr(family, key) for key in ("version", "models", "limits", "flags", "tokenizer")}
    for key, listed in places.items():
        for number, place in enumerate(listed):
            yield from (f"{key}[{number}].{problem}" for problem in _of_place(place))
    if family.tokenize is not None and not family.tokenize.encode.startswith("/"):
        yield f"tokenize.encode: {family.tokenize.encode!r} is no path that begins with /"
    yield from _pattern("source.commit", family.source.commit)
    if family.source.tag.replace("{version}", "").count("{"):
        yield f"source.tag: {family.source.tag!r} may hold {{version}} and nothing else in braces"


def _of_sign(sign: Sign, *, asked: bool) -> Iterator[str]:
    if asked and not sign.get.startswith("/"):
        yield "get: a sign is recognised by the answer to a path that begins with /"
    if not (sign.headers or sign.json or sign.body):
        yield "json: a sign needs a header, a JSON value or a body to look at"
    for name, pattern in sign.headers.items():
        yield from _pattern(f"headers.{name}", pattern)
    for pointer, pattern in sign.json.items():
        yield from _pointer("json", pointer)
        yield from _pattern(f"json.{pointer}", pattern)
    yield from _pattern("body", sign.body)
    if not 0 <= sign.certainty <= 1:
        yield "certainty: it lies between 0 and 1"


def _of_place(place: Place) -> Iterator[str]:
    if not place.get.startswith("/"):
        yield f"get: {place.get!r} is no path that begins with /"
    yield from _pointer("json", place.json)
    yield from _pattern("pattern", place.pattern)


def _pattern(key: str, written: str) -> Iterator[str]:
    try:
        re.compile(written)
    except (re.error, RecursionError, OverflowError) as error:
        yield f"{key}: {written!r} is no regular expression ({error})"


def _pointer(key: str, written: str) -> Iterator[str]:
    try:
        parse(written)
    except PointerError as error:
        yield f"{key}: {error}".rstrip(".")
