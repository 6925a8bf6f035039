"""The languages that a tree is read in: which files, what marks those that serve requests, and who reads them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from llmdebug.index.facts import FileFacts

ROUTE_MARKS = (
    r"@\w+(\.\w+)*\.(get|post|put|delete|patch|route|api_route|websocket)\(|add_api_route|add_route\(|add_post\("
    r"|APIRouter\(|include_router|\bdef do_POST|Blueprint\(|RouteTableDef"
    r"|\b(add|register)_(\w+_)?(endpoint|route)\(|register_blueprint|add_url_rule|add_subapp"
    r"|\b(FastAPI|Starlette|Flask|Quart)\(|\bweb\.Application\(|\bRoute\(|\bMount\(|\.mount\("
    r"|\bweb\.(get|post|put|delete|patch|route)\("
)


@dataclass(frozen=True, slots=True)
class Language:
    """How one language is read."""

    name: str
    suffixes: tuple[str, ...]
    routes: str
    """Marks of files that register paths, as a regular expression that re and ripgrep read alike."""
    others: str = ""
    """Marks of other files that belong to the base set."""
    definitions: str = ""
    """What stands before a name at the place where it is defined, and the name as a group; for languages whose
    packages are folders."""
    title: str = ""
    """What people call it, where that is not its name with a capital."""

    @property
    def marks(self) -> str:
        return f"{self.routes}|{self.others}" if self.others else self.routes


PYTHON = Language(
    "python",
    (".py",),
    ROUTE_MARKS,
    r"HTTPException\(|exception_handler|add_middleware|def create_\w*error\w*\(",
)
GO = Language(
    "go",
    (".go",),
    r"\.(GET|POST|PUT|DELETE|PATCH|HEAD|Any|Handle|HandleFunc)\(\x22(/|[A-Z]+ /)",
    definitions=r"^(?:func|func \([^()]*\)|type|const|var|\t)[ \t]*(\w+)(?=[ \t]*(?:\(|\[|=|struct|interface|\w))",
)
CPP = Language(
    "cpp",
    (".cpp", ".cc", ".cxx", ".hpp", ".h"),
    r"(\.|->)(Get|Post|Put|Delete|Patch|Options|get|post|put|del|patch|options) ?\([\w.>+ -]*R?\x22[(]?/",
    r"\bjson_value\(|\.(contains|at)\(\x22|httplib::Re(quest|sponse)",
    title="C++",
)
RUST = Language(
    "rust",
    (".rs",),
    r"\.(route|nest|service)\(|#\[(\w+::)*(get|post|put|delete|patch|route)\(|\broutes!\s*[\(\[]",
    r"#\[error\(|\b(IntoResponse|ResponseError|Responder) for |from_fn(_with_state)?\(",
    definitions=r"\b(?:fn|struct|enum|type|trait|const|static)[ \t]+(?:r#)?(\w+)",
)
OTHERS = (GO, CPP, RUST)
"""Languages whose files are read where the tree has no routes in Python."""
ASIDE = re.compile(
    r"(^|/)(tests?|testing|benchmarks?|benches|examples?(?!/server/)|docs?|scripts|third_party|vendor)(/|$)"
    r"|(^|/)(test_\w+|\w+_test|conftest)\.(py|go|rs|cpp)$"
)
"""Paths that hold no serving code; they serve only where nothing else does."""


def language_of(path: str) -> Language:
    """The language of a file of a tree."""
    return next((each for each in OTHERS if path.endswith(each.suffixes)), PYTHON)


def reader_of(language: Language) -> Callable[[str, bytes], FileFacts]:
    """What reads a file of a language into its facts; loaded when it is needed."""
    if language is GO:
        from llmdebug.index.go.extract import extract as extract_go

        return extract_go
    if language is CPP:
        from llmdebug.index.cpp.extract import extract as extract_cpp

        return extract_cpp
    if language is RUST:
        from llmdebug.index.rust.extract import extract as extract_rust

        return extract_rust
    from llmdebug.index.python.extract import extract

    return extract
