"""The same server in other words: identifiers of a tree renamed, words of its messages replaced.

Both are letter ciphers that keep length and case, so that every line and column stays where it was. Names and words
that come from outside the tree stay: Python's, libraries', those of requests and of JSON answers.
"""

from __future__ import annotations

import ast
import builtins
import importlib.util
import keyword
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from http import HTTPStatus
from pathlib import Path

from pydantic_core._pydantic_core import list_all_errors

from llmdebug.diagnosis.library import LIBRARIES as COMPLAINING

LIBRARIES = (
    *("abc", "argparse", "asyncio", "base64", "collections", "concurrent", "contextlib", "contextvars", "copy"),
    *("dataclasses", "datetime", "enum", "functools", "hashlib", "http", "inspect", "io", "itertools", "json"),
    *("logging", "math", "operator", "os", "pathlib", "pickle", "queue", "random", "re", "signal"),
    *("socket", "string", "struct", "subprocess", "sys", "tempfile", "textwrap", "threading", "time", "traceback"),
    *("types", "typing", "urllib", "uuid", "warnings", "weakref"),
    *("fastapi", "httpx", "jinja2", "msgspec", "pydantic", "starlette", "tokenizers", "typing_extensions", "uvicorn"),
    "transformers.tokenization_utils_base",
)
"""Packages whose public names a server may use."""

BUILTIN_TYPES = (object, str, bytes, int, float, list, dict, set, tuple, type, BaseException, OSError, property)

_STRING = r"""(?:\b[rRbBuUfF]{1,2})?(?:\"\"\"(?:[^\\]|\\.)*?\"\"\"|'''(?:[^\\]|\\.)*?'''"""
_STRING += r"""|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')"""
_CODE = re.compile(rf"#[^\n]*|(?P<string>{_STRING})|(?P<name>[^\W\d]\w*)", re.S)
_QUOTED = re.compile(r"([rRbBuUfF]*)(\"\"\"|'''|\"|')(.*)\2\Z", re.S)
_ATOM = re.compile(
    r"(?P<kept>\\(?:x..|u....|N\{[^}]*\}|.)|%[-#0+]*\d*(?:\.\d+)?[diouxXeEfgGcrsa](?![A-Za-z])|%\(\w+\))"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)",
    re.S,
)
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ONE_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_ALONE_IN_QUOTES = re.compile(r"""["'`]([A-Za-z_][A-Za-z0-9_]*)["'`]""")
PHRASES = {status.phrase for status in HTTPStatus}
"""What web frameworks say of a status on their own."""
VOWELS, CONSONANTS = "aeiou", "bcdfghjklmnpqrstvwxyz"


def shifted(word: str, by: int) -> str:
    """The word with each vowel and consonant replaced by the `by`-th after it; length, case and digits stay."""

    def one(letter: str) -> str:
        for row in (VOWELS, CONSONANTS):
            if (at := row.find(letter.lower())) >= 0:
                new = row[(at + by) % len(row)]
                return new.upper() if letter.isupper() else new
        return letter

    return "".join(map(one, word))


def replacements(words: Iterable[str], taken: set[str]) -> dict[str, str]:
    """A new word for each, none of them one that is taken or given twice."""
    used = set(taken)
    new: dict[str, str] = {}
    for word in sorted(words):
        choice = next((c for c in (shifted(word, by) for by in range(1, 20)) if c not in used), None)
        if choice is not None:
            used.add(choice)
            new[word] = choice
    return new


@dataclass(frozen=True)
class Wording:
    """What replaces what; an empty dictionary leaves that kind alone."""

    names: dict[str, str]
    words: dict[str, str]

    def code(self, source: str) -> str:
        """Python source in the new words."""

        def piece(match: re.Match[str]) -> str:
            if match["string"]:
                return self._literal(match["string"])
            return self.names.get(match["name"], match["name"]) if match["name"] else match[0]

        return _CODE.sub(piece, source)

    def _literal(self, text: str) -> str:
        quoted = _QUOTED.match(text)
        if quoted is None:
            return text
        prefix, quote, inner = quoted.groups()
        if "f" in prefix.lower():
            said = self.text if is_message(inner) else str
            pieces = [self.code(p) if is_hole else said(p) for p, is_hole in fstring_pieces(inner)]
            return prefix + quote + "".join(pieces) + quote
        return prefix + quote + self._inside(inner) + quote

    def _inside(self, text: str) -> str:
        """A literal's text: a message has its words replaced, a single name is renamed as names are."""
        if "{%" in text or "{{" in text or text in PHRASES:
            return text
        if _ONE_WORD.match(text):
            return self.names.get(text, text)
        if not is_message(text) and re.search(r"[a-z]-[a-z]|/", text):
            return text  # an option of a command line, a path
        return self.text(text)

    def text(self, text: str) -> str:
        """A message, or what a server printed of one, in the new words."""

        def atom(match: re.Match[str]) -> str:
            name = match["name"]
            if not name:
                return match[0]
            if "_" in name or not (name.islower() or name.istitle() or name.isupper()):
                return self.names.get(name, name)
            new = self.words.get(name.lower())
            if new is None:
                return str(name)
            return new.upper() if name.isupper() and len(name) > 1 else new.title() if name.istitle() else new

        return _ATOM.sub(atom, text)


def fstring_pieces(text: str) -> Iterator[tuple[str, bool]]:
    """The pieces of an f-string's inside, each with whether it is a hole (with its braces)."""
    start = at = depth = 0
    while at < len(text):
        if depth == 0 and text[at : at + 2] in ("{{", "}}"):
            at += 2
            continue
        if text[at] == "{":
            if depth == 0:
                yield text[start:at], False
                start = at
            depth += 1
        elif text[at] == "}" and depth:
            depth -= 1
            if depth == 0:
                yield text[start : at + 1], True
                start = at + 1
        at += 1
    yield text[start:], depth > 0


def is_message(text: str) -> bool:
    """Whether a literal is said to people, as far as that can be told: it holds a blank and a word."""
    return " " in text.strip() and bool(_WORD.search(text))


def defined_names(tree: ast.AST) -> set[str]:
    """The names that a module itself gives to something; what it imports is not its own."""
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()) | ast.arg(arg=name):
                found.add(name)
            case ast.ExceptHandler(name=str(name)):
                found.add(name)
    return found


def borrowed_names(tree: ast.AST, own_packages: set[str]) -> set[str]:
    """The names that a module takes from packages outside its tree, and the names of modules."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(part for a in node.names for part in (*a.name.split("."), a.asname or ""))
        elif isinstance(node, ast.ImportFrom):
            module = (node.module or "").split(".")
            found.update(module)
            if not node.level and module[0] not in own_packages:
                found.update(name for a in node.names for name in (a.name, a.asname or ""))
    return found


@cache
def library_names() -> frozenset[str]:
    """What Python and the libraries of servers offer: definitions, parameters, class attributes and options."""
    found = {*keyword.kwlist, *keyword.softkwlist, *dir(builtins), "self", "cls", "input_type", "input_value"}
    found.update(error["type"] for error in list_all_errors())
    for kind in BUILTIN_TYPES:
        found.update(dir(kind))
    for tree in library_modules():
        found |= _offered(tree)
    return frozenset(found)


@cache
def general_words() -> frozenset[str]:
    """Words that Python's and libraries' own messages use: the English that servers share."""
    return frozenset(word for tree in library_modules() for word in message_words(tree, with_docstrings=False))


def library_modules() -> Iterator[ast.Module]:
    for path in {path for name in LIBRARIES for path in _files_of(name)}:
        try:
            yield ast.parse(path.read_text(encoding="utf-8"))
        except (SyntaxError, ValueError, OSError):
            continue


def _files_of(package: str) -> list[Path]:
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.origin or not spec.origin.endswith(".py"):
        return []
    folders = list(spec.submodule_search_locations or ())
    if not folders:
        return [Path(spec.origin)]
    paths = [path for folder in folders for path in (*Path(folder).rglob("*.py"), *Path(folder).rglob("*.pyi"))]
    return [path for path in paths if not {"_internal", "v1", "test", "mypy.py"} & set(path.parts)]


def _offered(tree: ast.Module) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name, args=given) | ast.AsyncFunctionDef(name=name, args=given):
                found.add(name)
                found.update(a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs))
            case ast.ClassDef(name=name, body=body):
                found.add(name)
                for statement in body:
                    if isinstance(statement, ast.AnnAssign | ast.Assign):
                        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
                        found.update(target.id for target in targets if isinstance(target, ast.Name))
            case ast.Attribute(attr=name, value=ast.Name(id="self"), ctx=ast.Store()):
                found.add(name)
            case ast.Constant(value=str(text)) if _ONE_WORD.match(text):
                found.add(text)
    return found


def message_words(tree: ast.AST, *, with_docstrings: bool = True) -> set[str]:
    """The words, in lower case, of all literals that may be messages."""
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    found: set[str] = set()
    for node in ast.walk(tree):
        pieces: list[str] = []
        if isinstance(node, ast.JoinedStr):
            pieces = [v.value for v in node.values if isinstance(v, ast.Constant) and isinstance(v.value, str)]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and is_message(node.value):
            pieces = [node.value] if with_docstrings or id(node) not in docstrings else []
        for piece in pieces:
            found.update(word.lower() for word in _WORD.findall(piece) if len(word) > 2 and word.isalpha())
    return found


def quoted_words(text: str) -> set[str]:
    """Words that a printed text holds alone in quotes: names and values, no prose."""
    return set(_ALONE_IN_QUOTES.findall(text))


def words_of(text: str) -> set[str]:
    """All words and names of a text, and the parts that underscores join."""
    names = set(_WORD.findall(text))
    return names | {part for name in names for part in name.split("_")}


@cache
def library_texts() -> re.Pattern[str]:
    """What pydantic, web frameworks and other libraries say themselves; a message that pydantic only wraps is not."""
    patterns = [rf"\A{re.escape(phrase)}\Z" for phrase in PHRASES]
    patterns += [f"(?i:{pattern.removesuffix('$')})" for library in COMPLAINING for pattern in library.texts]
    patterns += [r"\d+ validation errors? for \w+", "For further information visit", r"Expecting .* delimiter: line .*"]
    for error in list_all_errors():
        template = error["message_template_python"]
        is_wrapper = template.endswith(", {error}")
        template = template.removesuffix("{error}") if is_wrapper else template
        parts = re.split(r"\{\w+\}", template)
        end = "" if is_wrapper else r"(?=\s*(?:[\"'\n,;\[(]|$))"
        patterns.append(r"[^\n]{0,400}?".join(map(re.escape, parts)) + end)
    return re.compile("|".join(f"(?:{p})" for p in sorted(patterns, key=len, reverse=True)))


def library_spans(text: str) -> list[tuple[int, int]]:
    """The spans of a text that a library wrote."""
    return [match.span() for match in library_texts().finditer(text) if match.end() > match.start()]
