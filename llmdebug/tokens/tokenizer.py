"""A tokenizer as transformers loads it. Heavy to import and to load: the worker's process alone does it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

from llmdebug.tokens import pieces
from llmdebug.tokens.defects import defect_of
from llmdebug.tokens.place import CONFIG_NAME, FILE_NAME, Place, find_tokenizer
from llmdebug.tokens.values import (
    MAX_TEXT,
    MAX_TOKENS,
    OUTSIDE,
    SPECIAL,
    TEXT,
    Cells,
    Reading,
    TokenizerError,
    Vocabulary,
    first_id_difference,
    first_text_difference,
)

MAX_LIMIT = 10**9
"""Context lengths beyond are a way to write "none"."""
WIDEST = 2**63
"""Numbers from here on count nothing."""
HUB_S = 10.0
"""Longest the hub may take to answer at all."""
MAX_CONFIG = 5_000_000
MAX_REASON = 400
WHAT_TO_DO = "Fetch or save the tokenizer's files again, or give another tokenizer."
SENTENCEPIECE = {"sentencepiece": "sentencepiece", "protobuf": "google.protobuf"}
"""The packages that read a SentencePiece model, and their modules."""
LIMIT_KEYS = ("max_position_embeddings", "n_positions", "max_sequence_length", "seq_length", "n_ctx")


def load(name: str, *, hub: bool, progress: Callable[[str], None]) -> Tokenizer:
    """The tokenizer of a folder, a file or a Hugging Face id; `hub` allows to fetch it. Raises TokenizerError."""
    place = find_tokenizer(name)
    progress("loading transformers")
    transformers = import_module("transformers")
    transformers.logging.set_verbosity_error()
    progress("loading the tokenizer")
    try:
        if place.path is None:
            loaded = _of_hub(transformers, place.hub_id, hub, progress)
        elif place.path.is_dir():
            loaded = _from_pretrained(transformers, str(place.path), local=True)
        else:
            loaded = transformers.PreTrainedTokenizerFast(tokenizer_file=str(place.path))
        if not getattr(loaded, "is_fast", False):
            raise TokenizerError(f"{name}: this tokenizer is none that tokenizers reads: it has no {FILE_NAME}.")
        _check_limit(loaded, place)
        return Tokenizer(name, place, loaded)
    except (TokenizerError, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a broken file makes Rust code panic, which is no Exception
        raise TokenizerError(_reason(error, place)) from error


def _check_limit(loaded: Any, place: Place) -> None:
    """Raises TokenizerError for a limit that transformers reads as it stands and fails on with each text."""
    if not isinstance(loaded.model_max_length, int | float):
        file = place.path / CONFIG_NAME if place.path is not None else f"{CONFIG_NAME} of {place.hub_id}"
        raise TokenizerError(f'{file}: "model_max_length" is no number. {WHAT_TO_DO}')


def _of_hub(transformers: Any, hub_id: str, hub: bool, progress: Callable[[str], None]) -> Any:
    try:
        return _from_pretrained(transformers, hub_id, local=True)
    except OSError:
        if not hub:
            raise TokenizerError(f"{hub_id}: it is no local folder, and not in the local cache of the hub.") from None
    progress(f"fetching {hub_id} from the hub")
    _check_hub(hub_id)
    return _from_pretrained(transformers, hub_id, local=False)


def _check_hub(hub_id: str) -> None:
    """Raises TokenizerError where the hub cannot be reached: its own client tries again for most of a minute."""
    endpoint = str(import_module("huggingface_hub.constants").ENDPOINT)
    try:
        urlopen(endpoint, timeout=HUB_S).close()
    except HTTPError:
        return
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        raise TokenizerError(
            f"{hub_id}: it is not in the local cache, and the hub {endpoint} cannot be reached: {reason}."
        ) from error


def _from_pretrained(transformers: Any, name: str, *, local: bool) -> Any:
    return transformers.AutoTokenizer.from_pretrained(name, local_files_only=local, trust_remote_code=False)


def _reason(error: BaseException, place: Place) -> str:
    """Why a tokenizer cannot be loaded, and what to do, as sentences."""
    name = str(place.path) if place.path else place.hub_id
    text = " ".join(str(error).split())[:MAX_REASON]
    if "trust_remote_code" in text or "custom code" in text:
        return (
            f"{name}: this tokenizer is a program that comes with the model (auto_map in its configuration). llmdebug "
            "runs no code of a model: give another tokenizer, or let the server count with its own /tokenize."
        )
    files = _files(place)
    defect = defect_of(files) if files is not None else ""
    if defect:
        return f"{defect} {WHAT_TO_DO}"
    needed = _packages_for(text, files)
    if needed:
        return (
            f"{name}: reading this tokenizer needs the package{'s' if len(needed) > 1 else ''} {' and '.join(needed)}: "
            f"install {'them' if len(needed) > 1 else 'it'} beside llmdebug, or save the tokenizer as {FILE_NAME}."
        )
    if files is None and isinstance(error, OSError):
        return f"{name}: it is not in the local cache, and the hub did not give it: {text}"
    version = import_module("transformers").__version__
    told = f"{type(error).__name__}: {text}" if text else type(error).__name__
    can = f"each of its files can be read, but transformers {version} makes no tokenizer of them"
    return f"{name}: {can} ({told}). {WHAT_TO_DO}"


def _packages_for(text: str, files: Path | None) -> list[str]:
    """The packages that an error is for want of.

    Of a SentencePiece model that cannot be read for want of its own packages, transformers says in the end that it
    needs another one, which would not read it either.
    """
    named = [package for package in (*SENTENCEPIECE, "tiktoken") if package in text.lower()]
    if named and files is not None and files.is_dir() and _is_sentencepiece(files):
        return [package for package, module in SENTENCEPIECE.items() if not _is_there(module)]
    return named[:1]


def _is_sentencepiece(folder: Path) -> bool:
    """Whether the vocabulary is a SentencePiece model: a protocol buffer that begins with its pieces."""
    for name in ("tokenizer.model", "spiece.model"):
        path = folder / name
        if path.is_file() and not (folder / FILE_NAME).exists():
            with open(path, "rb") as file:
                return file.read(1) == b"\n"
    return False


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def _files(place: Place) -> Path | None:
    """The folder or the file; of one from the hub its folder in the local cache, where it is there."""
    if place.path is not None:
        return place.path
    for name in (FILE_NAME, CONFIG_NAME):
        found = import_module("transformers.utils").cached_file(
            place.hub_id, name, local_files_only=True, _raise_exceptions_for_missing_entries=False
        )
        if found:
            return Path(found).parent
    return None


class Tokenizer:
    """Text to ids and back, with what the ids are made of."""

    def __init__(self, name: str, place: Place, loaded: Any) -> None:
        self.name = name
        self.place = place
        self.loaded = loaded
        backend = loaded.backend_tokenizer
        decoder = _state(backend.decoder)
        self.scheme = pieces.scheme_of(decoder)
        self._kind = type(backend.model).__name__
        self._bytes_of = pieces.bytes_of(self.scheme, pieces.space_of(decoder))
        added = backend.get_added_tokens_decoder()
        self._special = {id_ for id_, token in added.items() if token.special}
        self._added = {id_: token.content.encode("utf-8", "surrogatepass") for id_, token in added.items()}
        self._token_of = backend.id_to_token
        ids = backend.get_vocab(with_added_tokens=True).values()
        self.size = max(ids, default=-1) + 1
        self._holes = self.size - len(set(ids))

    @cached_property
    def vocabulary(self) -> Vocabulary:
        config = self._config()
        limit, source = self._limit(config)
        return Vocabulary(
            name=self.name,
            place=str(self.place.path) if self.place.path else self.place.hub_id,
            kind=f"{self._kind}, {self.scheme}",
            size=self.size,
            holes=self._holes,
            rows=_number(_nested(config, "vocab_size")),
            limit=limit,
            limit_from=source,
            has_template=bool(getattr(self.loaded, "chat_template", None)),
        )

    def encode(self, text: str, *, special: bool) -> Reading:
        """The ids of a text; `special` adds what the tokenizer puts around a text. Raises TokenizerError."""
        ids = self.ids_of(text, special=special)
        back = self.loaded.decode(list(ids), skip_special_tokens=special, clean_up_tokenization_spaces=False)
        return Reading(text=text, cells=self.cells(ids), difference=first_text_difference(text, back))

    def ids_of(self, text: str, *, special: bool) -> tuple[int, ...]:
        """Raises TokenizerError."""
        try:
            size = len(text.encode("utf-8"))
        except UnicodeEncodeError as error:
            raise TokenizerError(f"Character {error.start} of the text is half a surrogate pair: no UTF-8.") from error
        if size > MAX_TEXT:
            raise TokenizerError(f"The text has {size:,} bytes; at most {MAX_TEXT:,} are turned into ids.")
        ids = tuple(self.loaded.encode(text, add_special_tokens=special))
        if len(ids) > MAX_TOKENS:
            raise TokenizerError(f"The text has {len(ids):,} tokens; at most {MAX_TOKENS:,} are shown.")
        return ids

    def decode(self, ids: Sequence[int]) -> Reading:
        """The text of ids, as servers get it: U+FFFD for what is no UTF-8; ids without a token stand for nothing."""
        cells = self.cells(tuple(ids))
        known = [id_ for id_, mark in zip(cells.ids, cells.marks, strict=True) if mark != OUTSIDE]
        text = self.loaded.decode(known, skip_special_tokens=False, clean_up_tokenization_spaces=False)
        whole = len(known) == len(cells)
        difference = first_id_difference(cells.ids, self.ids_of(text, special=False)) if whole else None
        return Reading(text=text, cells=cells, difference=difference)

    def cells(self, ids: tuple[int, ...]) -> Cells:
        """Never raises for what the ids are: an integer that is no id has no token."""
        found: dict[int, tuple[bytes, str]] = {}
        for id_ in set(ids):
            found[id_] = self._piece(id_)
        parts = tuple(found[id_][0] for id_ in ids)
        known = "".join(found[id_][1] for id_ in ids)
        return Cells(ids, parts, pieces.marks_of(parts, known))

    def _piece(self, id_: int) -> tuple[bytes, str]:
        if not 0 <= id_ < self.size:
            return b"", OUTSIDE
        if id_ in self._added:
            return self._added[id_], SPECIAL if id_ in self._special else TEXT
        token = self._token_of(id_)
        return (b"", OUTSIDE) if token is None else (self._bytes_of(token), TEXT)

    def _config(self) -> dict[str, Any]:
        """The model's config.json; empty where there is none to read."""
        folder = self.place.path if self.place.path and self.place.path.is_dir() else None
        if folder is None and self.place.hub_id:
            found = import_module("transformers.utils").cached_file(
                self.place.hub_id, "config.json", local_files_only=True, _raise_exceptions_for_missing_entries=False
            )
            folder = Path(found).parent if found else None
        return _read_json(folder / "config.json") if folder else {}

    def _limit(self, config: dict[str, Any]) -> tuple[int | None, str]:
        """The context's tokens, and which file says so."""
        for key in LIMIT_KEYS:
            limit = _number(_nested(config, key))
            if limit is not None and 0 < limit < MAX_LIMIT:
                return limit, f"{key} in config.json"
        limit = _number(getattr(self.loaded, "model_max_length", None))
        if limit is not None and 0 < limit < MAX_LIMIT:
            return limit, f"model_max_length in {CONFIG_NAME}"
        return None, ""


def _state(part: Any) -> Any:
    """A decoder as JSON; None where there is none."""
    if part is None:
        return None
    try:
        return json.loads(part.__getstate__())
    except (ValueError, TypeError, AttributeError):
        return None


def _nested(config: dict[str, Any], key: str) -> Any:
    """A value of the configuration, or of the text model in it."""
    if key in config:
        return config[key]
    for part in ("text_config", "llm_config", "language_config"):
        inner = config.get(part)
        if isinstance(inner, dict) and key in inner:
            return inner[key]
    return None


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < WIDEST else None


def _read_json(path: Path) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            value = json.loads(file.read(MAX_CONFIG))
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
