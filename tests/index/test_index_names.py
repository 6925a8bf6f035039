"""Names followed from file to file."""

from __future__ import annotations

from pathlib import Path

import pytest

from llmdebug.index.build import Index, open_index
from llmdebug.index.python.names import define
from llmdebug.source.tree import open_tree


def indexed(folder: Path, files: dict[str, str]) -> Index:
    for name, source in files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(source, encoding="utf-8")
    return open_index(open_tree(folder), keep=False)


CIRCLE = {
    "pkg/__init__.py": "from .a import *\nfrom .b import *\n",
    "pkg/a.py": "from pkg.b import *\nfrom pkg import *\nclass InA:\n    def method(self): pass\n",
    "pkg/b.py": "from pkg.a import *\nfrom pkg.c import *\nin_b = 1\n",
    "pkg/c.py": "from pkg import *\nfrom .d import in_d as renamed\n",
    "pkg/d.py": "def in_d(): pass\n",
    "app.py": "from pkg import *\n",
}


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("InA", "pkg/a.py"),
        ("InA.method", "pkg/a.py"),
        ("in_b", "pkg/b.py"),
        ("renamed", "pkg/d.py"),
        ("absent", None),
        ("absent.of.many.parts", None),
        ("ValueError", None),
    ],
)
def test_circles_of_star_imports(tmp_path: Path, name: str, place: str | None) -> None:
    found = define(indexed(tmp_path, CIRCLE), "app.py", name)
    assert (found.path if found else None) == place


def test_a_package_of_many_star_imports_is_not_read_whole(tmp_path: Path) -> None:
    files = {f"pkg/m{n}.py": f"from .m{n + 1} import *\nvalue_{n} = {n}\n" for n in range(400)}
    files["pkg/__init__.py"] = "".join(f"from .m{n} import *\n" for n in range(400))
    files["app.py"] = "from pkg import *\n"
    index = indexed(tmp_path, files)
    found = define(index, "app.py", "value_3")
    assert found is not None and found.path == "pkg/m3.py"
    assert define(index, "app.py", "absent") is None
    assert len(index.loaded) < 100
