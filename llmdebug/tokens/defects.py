"""What is wrong in the files of a tokenizer that cannot be loaded, in plain words. In the worker's process only.

The libraries tell it in words of their own code; here each file is looked at by itself, and of a `tokenizer.json`
the part is found without which it could be read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from llmdebug.jsontext.parse import JsonError, parse_json
from llmdebug.tokens.place import CONFIG_NAME, FILE_NAME, KNOWN_FILES, MAX_BYTES

JSON_FILES = (FILE_NAME, CONFIG_NAME, "special_tokens_map.json", "added_tokens.json", "vocab.json", "config.json")
POINTER_START = b"version https://git-lfs"
TEXT_FILES = ("vocab.txt", "merges.txt")
NO_VARIANT = "untagged enum"
"""In the library's words for "of no kind that is known", which tell no more than that."""
MAX_REASON = 300
MAX_TRIED = 60_000_000
"""Bytes of files whose parts are tried one by one; the largest known tokenizer has 35 MB."""
TOKEN = ("a text", "an object", "null")
EXPECTED: dict[str, tuple[str, ...]] = {
    "tokenizer_class": ("a text", "null"),
    "added_tokens_decoder": ("an object",),
    "chat_template": ("a text", "an object", "a list", "null"),
    **dict.fromkeys(
        ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"), TOKEN
    ),
}
"""What the entries of a tokenizer's configuration may be, where another kind stops it from being loaded."""
SMALL_MODEL = {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"}
NEUTRAL: dict[str, Any] = {
    "added_tokens": [],
    "model": SMALL_MODEL,
    "normalizer": None,
    "pre_tokenizer": None,
    "post_processor": None,
    "decoder": None,
    "truncation": None,
    "padding": None,
}
"""Parts of a `tokenizer.json`, and what reads well in their place."""


def defect_of(place: Path) -> str:
    """The file that is to blame and what is wrong in it, as a sentence; empty where none is found.

    `place` is a tokenizer's folder, or its one file.
    """
    files = [place] if place.is_file() else [place / name for name in JSON_FILES if (place / name).exists()]
    if place.is_dir() and not any((place / name).is_file() for name in KNOWN_FILES if name != CONFIG_NAME):
        return f"{place}: there is {CONFIG_NAME}, but no {FILE_NAME} nor another file that holds a vocabulary."
    values: dict[str, dict[str, Any]] = {}
    for file in files:
        value = _object(file)
        if isinstance(value, str):
            return f"{file}: {value}."
        values[file.name] = value
    texts = [place / name for name in TEXT_FILES if (place / name).exists()]
    for file in [*texts, *place.glob("*.jinja"), *place.glob("*/*.jinja")]:
        problem = _text_problem(file)
        if problem:
            return f"{file}: {problem}."
    for name in (CONFIG_NAME, "special_tokens_map.json"):
        if name in values and (told := next(_odd_entries(values[name]), "")):
            return f"{place / name}: {told}."
    whole = values.get(FILE_NAME if place.is_dir() else place.name)
    is_small = whole is not None and sum(file.stat().st_size for file in files) < MAX_TRIED
    told = _bad_part(whole) if whole is not None and is_small else ""
    return f"{place / FILE_NAME if place.is_dir() else place}: {told}." if told else ""


def _object(file: Path) -> dict[str, Any] | str:
    """What a JSON file holds, or what is wrong with it."""
    data = _bytes(file)
    if isinstance(data, str):
        return data
    try:
        value = parse_json(data).value
    except JsonError as error:
        return f"it cannot be read as JSON: {str(error).rstrip('.')}"
    except (RecursionError, MemoryError):
        return "it is nested too deep, or too large"
    return value if isinstance(value, dict) else f"it holds {_kind(value)} where an object is expected"


def _text_problem(file: Path) -> str:
    data = _bytes(file)
    if isinstance(data, str):
        return data
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return f"it is no UTF-8: byte {error.start:,} is none of it"
    return ""


def _bytes(file: Path) -> bytes | str:
    """A file's bytes, or why they are of no use."""
    if not file.is_file():
        return "it is no file"
    try:
        with open(file, "rb") as opened:
            data = opened.read(MAX_BYTES)
    except OSError as error:
        return f"it cannot be read: {error.strerror or error}"
    if data.startswith(POINTER_START):
        return "it is a pointer of Git LFS, and the file it stands for was not fetched (git lfs pull)"
    return data if data.strip() else "it is empty"


def _kind(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    kinds: dict[type, str] = {str: "a text", list: "a list", dict: "an object"}
    return kinds.get(type(value), "a number")


def _odd_entries(config: dict[str, Any]) -> Iterator[str]:
    for key, kinds in EXPECTED.items():
        if key in config and _kind(config[key]) not in kinds:
            yield f'"{key}" is {_kind(config[key])}; it would be {" or ".join(kinds)}'
    templates = config.get("chat_template")
    for place, template in enumerate(templates if isinstance(templates, list) else ()):
        if not isinstance(template, dict) or not isinstance(template.get("name"), str) or "template" not in template:
            yield f'"chat_template" {place} is not an object with a name and a template'
    added = config.get("added_tokens_decoder")
    for key in added if isinstance(added, dict) else ():
        if not key.isdecimal():
            yield f'"added_tokens_decoder" has the key "{key[:40]}", which is no id'


def _bad_part(whole: dict[str, Any]) -> str:
    """The part without which a `tokenizer.json` can be read."""
    for name in ("model", "added_tokens"):
        if name not in whole:
            return f'its part "{name}" is missing'
    words = _refusal(whole)
    if not words:
        return ""
    for name, neutral in NEUTRAL.items():
        if name in whole and not _refusal({**whole, "added_tokens": [], name: neutral}):
            part = whole[name]
            kind = part.get("type") if isinstance(part, dict) else None
            of_type = f' of type "{kind[:40]}"' if isinstance(kind, str) else ""
            says = "" if NO_VARIANT in words else f", which says: {words.rstrip('.')}"
            return f'its part "{name}"{of_type} is none that tokenizers {_version()} reads{says}'
    return f"tokenizers {_version()} does not read it, and says: {words}"


def _refusal(whole: dict[str, Any]) -> str:
    """What the library says of a `tokenizer.json`; empty where it reads it."""
    try:
        import_module("tokenizers").Tokenizer.from_str(json.dumps(whole))
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # Rust code panics, which is no Exception
        return " ".join(str(error).split())[:MAX_REASON] or type(error).__name__
    return ""


def _version() -> str:
    return str(import_module("tokenizers").__version__)
