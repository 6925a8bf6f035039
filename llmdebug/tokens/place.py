"""Where a tokenizer is: a folder, a `tokenizer.json`, or a Hugging Face id. Nothing is read but names and sizes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from llmdebug.tokens.values import TokenizerError

FILE_NAME = "tokenizer.json"
CONFIG_NAME = "tokenizer_config.json"
KNOWN_FILES = (FILE_NAME, CONFIG_NAME, "tokenizer.model", "vocab.json", "vocab.txt", "spiece.model", "tekken.json")
BESIDE = ("special_tokens_map.json", "added_tokens.json", "config.json", "chat_template.jinja", "merges.txt")
"""What is read beside them, where it is there."""
MAX_BYTES = 200_000_000
"""Of one file; the largest known tokenizer has 35 MB."""
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,95}(?:/[A-Za-z0-9][\w.-]{0,95})?")


@dataclass(frozen=True, slots=True)
class Place:
    """One tokenizer; exactly one of the two is set."""

    path: Path | None = None
    """A folder that transformers reads, or a bare `tokenizer.json`."""
    hub_id: str = ""


def find_tokenizer(name: str) -> Place:
    """Raises TokenizerError where there can be no tokenizer under this name."""
    if not name.strip() or "\0" in name:
        raise TokenizerError("A tokenizer is a folder, a tokenizer.json, or a Hugging Face id such as Qwen/Qwen3-8B.")
    path = Path(name).expanduser()
    try:
        if path.is_dir():
            return Place(_readable_folder(path))
        if path.exists():
            return Place(_of_file(path))
    except OSError as error:
        raise TokenizerError(f"{name}: the tokenizer cannot be read: {error.strerror or error}.") from error
    if name.startswith(("/", ".", "~")) or not _HUB_ID.fullmatch(name):
        raise TokenizerError(f"{name}: there is no such folder or file, and it is no Hugging Face id.")
    return Place(hub_id=name)


def _readable_folder(folder: Path) -> Path:
    for name in (*KNOWN_FILES, *BESIDE):
        path = folder / name
        if path.is_file():
            _check_size(path)
        elif path.exists() and not path.is_dir():
            raise TokenizerError(f"{path}: this is no file but a pipe, a socket or a device; it is not opened.")
    if any((folder / known).is_file() for known in KNOWN_FILES):
        return folder
    if any(folder.glob("*.gguf")):
        raise TokenizerError(f"{folder}: a GGUF file's tokenizer is not read here; the server's own /tokenize has it.")
    raise TokenizerError(f"{folder}: there is no tokenizer in this folder; it would hold a {FILE_NAME}.")


def _of_file(path: Path) -> Path:
    """The folder where the file is one of several, as those tell of special tokens and the chat template."""
    if not path.is_file():
        raise TokenizerError(f"{path}: this is neither a folder nor a file.")
    _check_size(path)
    if path.name in KNOWN_FILES and (path.name != FILE_NAME or (path.parent / CONFIG_NAME).is_file()):
        return path.parent
    return path


def _check_size(path: Path) -> None:
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise TokenizerError(f"{path}: {size:,} bytes are no tokenizer; at most {MAX_BYTES:,} are read.")
