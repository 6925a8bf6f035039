"""Which functions a route leads to."""

from __future__ import annotations

from pathlib import Path

import pytest

from llmdebug.diagnosis.reach import Reach
from llmdebug.index.build import open_index
from llmdebug.source.tree import open_tree

FILES = {
    "app.py": (
        "from checks import check\nimport checks\nfrom model import Model\n"
        "def handler(request):\n    check(request)\n"
        "def by_module(request):\n    checks.check(request)\n"
        "def by_class(request):\n    Model(request)\n"
        "def by_method(server):\n    server.rarely_named(1)\n"
        "def handed_on(pool):\n    pool.submit(check)\n"
        "def nested():\n    def inner():\n        check(1)\n    inner()\n"
        "from serving import find\ndef by_given(request):\n    serve = find(request)\n    return serve(request)\n"
        "from chosen import Chosen\nfrom other import Other\n"
        "def by_owner(one: Chosen, two: Other):\n    one.run_it()\n"
        "def by_base(one: Chosen):\n    one.run_it()\n"
        "def alone():\n    pass\n"
        "def common(d):\n    d.get('x')\n"
        "def round_and_round():\n    other_round()\ndef other_round():\n    round_and_round()\n"
    ),
    "checks.py": "def check(r):\n    deeper(r)\ndef deeper(r):\n    raise ValueError('no')\ndef unused():\n    raise ValueError('no')\n",
    "model.py": (
        "from pydantic import BaseModel, field_validator\nfrom checks import deeper\nclass Model(BaseModel):\n    a: int\n"
        "    @field_validator('a')\n    def validate_a(cls, v):\n        return deeper(v)\n"
    ),
    "serving.py": (
        "from checks import deeper\nclass Base:\n    def __call__(self, r):\n        deeper(r)\n"
        "class Serving(Base):\n    pass\ndef find(request) -> Serving:\n    return request.app.state.serving\n"
    ),
    "chosen.py": (
        "class Base:\n    def verify(self):\n        pass\n"
        "class Chosen(Base):\n    def run_it(self):\n        self.verify()\n"
    ),
    "other.py": "class Other:\n    def run_it(self):\n        pass\n    def verify(self):\n        pass\n",
    "server.py": "class Server:\n    def rarely_named(self, n):\n        self._own(n)\n    def _own(self, n):\n        raise ValueError('no')\n    def get(self, k):\n        raise ValueError('no')\n",
}


@pytest.fixture
def reach_from(tmp_path: Path):  # type: ignore[no-untyped-def]
    for path, source in FILES.items():
        (tmp_path / path).write_text(source)
    index = open_index(open_tree(tmp_path), keep=False)
    index.load(FILES)
    return lambda symbol: Reach(index, [("app.py", symbol)])


@pytest.mark.parametrize(
    ("root", "path", "symbol", "depth"),
    [
        ("handler", "app.py", "handler", 0),
        ("handler", "checks.py", "check", 1),
        ("handler", "checks.py", "deeper", 2),
        ("handler", "checks.py", "unused", None),
        ("by_module", "checks.py", "deeper", 2),
        ("by_class", "model.py", "Model.validate_a", 1),
        ("by_class", "checks.py", "deeper", 2),
        ("by_method", "server.py", "Server.rarely_named", 1),
        ("by_method", "server.py", "Server._own", 2),
        ("handed_on", "checks.py", "check", 1),
        ("nested", "checks.py", "check", 2),
        ("by_given", "serving.py", "Base.__call__", 2),
        ("by_given", "checks.py", "deeper", 3),
        ("by_owner", "chosen.py", "Chosen.run_it", 1),
        ("by_owner", "other.py", "Other.run_it", None),
        ("by_base", "chosen.py", "Base.verify", 2),
        ("by_base", "other.py", "Other.verify", None),
        ("alone", "checks.py", "check", None),
        ("common", "server.py", "Server.get", None),
        ("round_and_round", "checks.py", "check", None),
        ("round_and_round", "app.py", "other_round", 1),
        ("absent", "checks.py", "check", None),
    ],
)
def test_depth(reach_from, root: str, path: str, symbol: str, depth: int | None) -> None:  # type: ignore[no-untyped-def]
    assert reach_from(root).of(path, symbol) == depth
