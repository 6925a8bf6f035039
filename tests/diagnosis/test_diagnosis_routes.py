"""From method and path to the registration: each way in which servers register paths."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmdebug.diagnosis.ground import ground_of
from llmdebug.diagnosis.route import Routes, join, path_matches
from llmdebug.diagnosis.routing_claim import conditions_of
from llmdebug.index.build import open_index
from llmdebug.source.tree import open_tree


def routes(folder: Path, files: dict[str, str]) -> Routes:
    for path, source in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(dedent(source))
    return Routes(open_index(open_tree(folder), keep=False))


def resolved(folder: Path, files: dict[str, str], method: str, path: str) -> tuple[str, str, int, str] | None:
    """File, full path, line and handler of the registration that takes the request."""
    found = routes(folder, files).resolve(method, path).matches
    if not found:
        return None
    first = found[0]
    return first.file, first.path, first.route.line, first.route.handler


ROUTER = """\
from fastapi import APIRouter
router = APIRouter(prefix="/models")
@router.get("/{name}")
def show(name: str): ...
@router.post("")
def create(): ...
"""

FASTAPI: list[tuple[str, str, str, str, int, str]] = [
    ("decorator", "@app.post('/v1/x')\ndef f(): ...", "POST /v1/x", "/v1/x", 1, "f"),
    ("async", "@app.post('/v1/x')\nasync def f(): ...", "POST /v1/x", "/v1/x", 1, "f"),
    ("stacked", "@app.post('/a')\n@app.post('/b')\ndef f(): ...", "POST /b", "/b", 2, "f"),
    ("api_route", "@app.api_route('/a', methods=['GET', 'POST'])\ndef f(): ...", "POST /a", "/a", 1, "f"),
    ("route", "@app.route('/a', methods=['PUT'])\ndef f(): ...", "PUT /a", "/a", 1, "f"),
    ("path keyword", "@app.post(path='/a')\ndef f(): ...", "POST /a", "/a", 1, "f"),
    ("over several lines", "@app.post(\n    '/a',\n    dependencies=[Depends(check)],\n)\ndef f(): ...", "POST /a", "/a", 1, "f"),
    ("constant", "PATH = '/a/b'\n@app.post(PATH)\ndef f(): ...", "POST /a/b", "/a/b", 2, "f"),
    ("sum", "BASE = '/v1'\n@app.post(BASE + '/b')\ndef f(): ...", "POST /v1/b", "/v1/b", 2, "f"),
    ("f-string", "BASE = '/v1'\n@app.post(f'{BASE}/b')\ndef f(): ...", "POST /v1/b", "/v1/b", 2, "f"),
    ("environment", "HEALTH = os.environ.get('HEALTH', '/ok')\n@app.get(HEALTH)\ndef f(): ...", "GET /ok", "/ok", 2, "f"),
    ("getenv", "@app.get(os.getenv('HEALTH', '/ok'))\ndef f(): ...", "GET /ok", "/ok", 1, "f"),
    ("environment or", "HEALTH = os.environ.get('HEALTH') or '/ok'\n@app.get(HEALTH)\ndef f(): ...", "GET /ok", "/ok", 2, "f"),
    ("parameter", "@app.get('/m/{name}')\ndef f(name): ...", "GET /m/llama", "/m/{name}", 1, "f"),
    ("path parameter", "@app.get('/m/{name:path}')\ndef f(name): ...", "GET /m/a/b", "/m/{name:path}", 1, "f"),
    ("exact before parameter", "@app.get('/m/{name}')\ndef f(name): ...\n@app.get('/m/all')\ndef g(): ...", "GET /m/all", "/m/all", 3, "g"),
    ("add_api_route", "def f(): ...\napp.add_api_route('/a', f, methods=['POST'])", "POST /a", "/a", 2, "f"),
    ("add_api_route keywords", "app.add_api_route(path='/a', endpoint=f, methods=['POST'])\ndef f(): ...", "POST /a", "/a", 1, "f"),
    ("partial", "app.add_api_route('/a', partial(f, 1), methods=['POST'])\ndef f(n): ...", "POST /a", "/a", 1, "f"),
    ("in a function", "def make():\n    app = FastAPI()\n    @app.post('/a')\n    def f(): ...\n    return app", "POST /a", "/a", 3, "make.f"),
    ("in a condition", "if args.dev:\n    @app.post('/a')\n    def f(): ...", "POST /a", "/a", 2, "f"),
    ("in a loop", "for p in ['/a', '/b']:\n    app.add_api_route(p, f, methods=['POST'])\ndef f(): ...", "POST /b", "/b", 2, "f"),
    ("in a loop of pairs", "for p, h in [('/a', f), ('/b', g)]:\n    app.add_api_route(p, h, methods=['POST'])\ndef f(): ...\ndef g(): ...", "POST /b", "/b", 2, "h"),
    ("head by get", "@app.get('/a')\ndef f(): ...", "HEAD /a", "/a", 1, "f"),
    ("trailing slash", "@app.post('/a')\ndef f(): ...", "POST /a/", "/a", 1, "f"),
    ("query", "@app.post('/a')\ndef f(): ...", "POST /a?x=1", "/a", 1, "f"),
    ("behind a gateway", "@app.post('/v1/x')\ndef f(): ...", "POST /team/llm/v1/x", "/v1/x", 1, "f"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "code", "request_", "path", "line", "handler"), FASTAPI, ids=[r[0] for r in FASTAPI])
def test_fastapi(tmp_path: Path, name: str, code: str, request_: str, path: str, line: int, handler: str) -> None:
    header = "import os\nfrom functools import partial\nfrom fastapi import Depends, FastAPI\napp = FastAPI()\n"
    method, _, wanted = request_.partition(" ")
    found = resolved(tmp_path, {"server.py": header + code + "\n"}, method, wanted)
    assert found == ("server.py", path, 4 + line, handler)


INCLUDES: list[tuple[str, dict[str, str], str, str]] = [
    (
        "prefix of the router", {"m.py": ROUTER, "app.py": "from fastapi import FastAPI\nfrom m import router\napp = FastAPI()\napp.include_router(router)\n"},
        "/models", "m.py",
    ),
    (
        "prefix of the include", {"m.py": ROUTER, "app.py": "from fastapi import FastAPI\nimport m\napp = FastAPI()\napp.include_router(m.router, prefix='/v1')\n"},
        "/v1/models", "m.py",
    ),
    (
        "renamed", {"m.py": ROUTER, "app.py": "from fastapi import FastAPI\nfrom m import router as models\napp = FastAPI()\napp.include_router(models, prefix='/v1')\n"},
        "/v1/models", "m.py",
    ),
    (
        "relative", {"pkg/__init__.py": "", "pkg/m.py": ROUTER, "pkg/app.py": "from fastapi import FastAPI\nfrom .m import router\napp = FastAPI()\napp.include_router(router, prefix='/v1')\n"},
        "/v1/models", "pkg/m.py",
    ),
    (
        "re-exported", {"pkg/__init__.py": "from .m import router\n", "pkg/m.py": ROUTER, "app.py": "from fastapi import FastAPI\nfrom pkg import router\napp = FastAPI()\napp.include_router(router, prefix='/v1')\n"},
        "/v1/models", "pkg/m.py",
    ),
    (
        "under a condition", {"m.py": ROUTER, "app.py": "from fastapi import FastAPI\nfrom m import router\ndef make(args):\n    app = FastAPI()\n    if args.models:\n        app.include_router(router, prefix='/v1')\n    return app\n"},
        "/v1/models", "m.py",
    ),
    (
        "in a loop", {"m.py": ROUTER, "app.py": "from fastapi import FastAPI\nfrom m import router\napp = FastAPI()\nfor r in [router]:\n    app.include_router(r, prefix='/v1')\n"},
        "/v1/models", "m.py",
    ),
    (
        "router in router", {"m.py": ROUTER, "api.py": "from fastapi import APIRouter\nfrom m import router\napi = APIRouter(prefix='/api')\napi.include_router(router, prefix='/v1')\n",
                             "app.py": "from fastapi import FastAPI\nfrom api import api\napp = FastAPI()\napp.include_router(api)\n"},
        "/api/v1/models", "m.py",
    ),
    (
        "made by a function", {"m.py": "from fastapi import APIRouter\ndef make():\n    router = APIRouter(prefix='/models')\n    @router.post('')\n    def create(): ...\n    return router\n",
                               "app.py": "from fastapi import FastAPI\nfrom m import make\napp = FastAPI()\napp.include_router(make(), prefix='/v1')\n"},
        "/v1/models", "m.py",
    ),
    (
        "attached by a function", {"m.py": ROUTER + "def attach(app):\n    app.include_router(router, prefix='/v1')\n", "app.py": "from fastapi import FastAPI\nfrom m import attach\napp = FastAPI()\nattach(app)\n"},
        "/v1/models", "m.py",
    ),
    (
        "prefix from a constant", {"m.py": ROUTER, "app.py": "from fastapi import FastAPI\nfrom m import router\nV1 = '/v1'\napp = FastAPI()\napp.include_router(router, prefix=f'{V1}')\n"},
        "/v1/models", "m.py",
    ),
    (
        "mounted app", {"m.py": "from fastapi import FastAPI\ninner = FastAPI()\n@inner.post('/models')\ndef create(): ...\n", "app.py": "from fastapi import FastAPI\nfrom m import inner\napp = FastAPI()\napp.mount('/v1', inner)\n"},
        "/v1/models", "m.py",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("name", "files", "path", "file"), INCLUDES, ids=[row[0] for row in INCLUDES])
def test_routers_and_prefixes(tmp_path: Path, name: str, files: dict[str, str], path: str, file: str) -> None:
    found = resolved(tmp_path, files, "POST", path)
    assert found is not None
    assert (found[0], found[1]) == (file, path)
    assert found[3].endswith("create")


OTHERS: list[tuple[str, str, str, str, str, int]] = [
    ("starlette list", "from starlette.routing import Route\nroutes = [\n    Route('/a', endpoint=f, methods=['POST']),\n]\n", "POST", "/a", "f", 3),
    ("starlette mount", "from starlette.routing import Mount, Route\nroutes = [Mount('/v1', routes=[Route('/a', f, methods=['POST'])])]\n", "POST", "/v1/a", "f", 2),
    ("starlette add_route", "from starlette.applications import Starlette\napp = Starlette()\napp.add_route('/a', f, methods=['POST'])\n", "POST", "/a", "f", 3),
    ("flask", "from flask import Flask\napp = Flask(__name__)\n@app.route('/a', methods=['POST'])\ndef f(): ...\n", "POST", "/a", "f", 3),
    ("flask typed parameter", "from flask import Flask\napp = Flask(__name__)\n@app.route('/a/<int:n>')\ndef f(n): ...\n", "GET", "/a/7", "f", 3),
    ("flask rule", "from flask import Flask\napp = Flask(__name__)\napp.add_url_rule('/a', view_func=f, methods=['POST'])\n", "POST", "/a", "f", 3),
    ("blueprint", "from flask import Blueprint, Flask\nbp = Blueprint('x', __name__, url_prefix='/v1')\n@bp.route('/a', methods=['POST'])\ndef f(): ...\napp = Flask(__name__)\napp.register_blueprint(bp)\n", "POST", "/v1/a", "f", 3),
    ("blueprint with a prefix", "from flask import Blueprint, Flask\nbp = Blueprint('x', __name__)\n@bp.post('/a')\ndef f(): ...\napp = Flask(__name__)\napp.register_blueprint(bp, url_prefix='/v1')\n", "POST", "/v1/a", "f", 3),
    ("aiohttp", "from aiohttp import web\napp = web.Application()\napp.router.add_post('/a', f)\n", "POST", "/a", "f", 3),
    ("aiohttp list", "from aiohttp import web\napp = web.Application()\napp.add_routes([web.post('/a', f)])\n", "POST", "/a", "f", 3),
    ("aiohttp add_route", "from aiohttp import web\napp = web.Application()\napp.router.add_route('POST', '/a', f)\n", "POST", "/a", "f", 3),
    ("aiohttp table", "from aiohttp import web\nroutes = web.RouteTableDef()\n@routes.post('/a')\nasync def f(request): ...\n", "POST", "/a", "f", 3),
    ("by hand", "class Handler(BaseHTTPRequestHandler):\n    def do_POST(self):\n        if self.path == '/a':\n            self.answer()\n", "POST", "/a", "do_POST", 3),
    ("by hand, one of", "class Handler(BaseHTTPRequestHandler):\n    def do_POST(self):\n        if self.path in ('/a', '/b'):\n            self.answer()\n", "POST", "/b", "do_POST", 3),
    ("by hand, elif", "class Handler(BaseHTTPRequestHandler):\n    def do_POST(self):\n        if self.path == '/x':\n            pass\n        elif self.path == '/a':\n            self.answer()\n", "POST", "/a", "do_POST", 5),
]  # fmt: skip


@pytest.mark.parametrize(("name", "code", "method", "path", "handler", "line"), OTHERS, ids=[row[0] for row in OTHERS])
def test_other_frameworks(
    tmp_path: Path, name: str, code: str, method: str, path: str, handler: str, line: int
) -> None:
    found = resolved(tmp_path, {"server.py": code}, method, path)
    assert found is not None
    assert found[0] == "server.py" and found[2] == line
    assert path_matches(found[1], path)
    assert found[3].rpartition(".")[2] == handler


def test_a_path_for_another_method(tmp_path: Path) -> None:
    code = "from fastapi import FastAPI\napp = FastAPI()\n@app.post('/v1/x')\ndef f(): ...\n"
    found = routes(tmp_path, {"a.py": code}).resolve("GET", "/v1/x")
    assert found.matches == ()
    assert [r.route.methods for r in found.other_methods] == [("POST",)]


def test_a_path_that_nobody_registers_has_neighbours(tmp_path: Path) -> None:
    code = "from fastapi import FastAPI\napp = FastAPI()\n@app.post('/v1/completions')\ndef f(): ...\n@app.get('/health')\ndef g(): ...\n"
    found = routes(tmp_path, {"a.py": code}).resolve("POST", "/v1/completion")
    assert found.matches == ()
    assert [r.path for r in found.nearest] == ["/v1/completions"]


def test_a_registration_names_its_condition(tmp_path: Path) -> None:
    code = (
        "from fastapi import FastAPI\ndef make(args):\n    app = FastAPI()\n    if args.enable_score:\n"
        "        @app.post('/score')\n        def f(): ...\n    if not args.extra:\n        return app\n"
        "    @app.post('/extra')\n    def g(): ...\n    return app\n"
    )
    known = routes(tmp_path, {"a.py": code})
    first = known.resolve("POST", "/score").matches[0].route
    assert (first.condition, first.condition_line) == ("args.enable_score", 4)
    second = known.resolve("POST", "/extra").matches[0].route
    assert (second.condition, second.condition_line) == ("args.extra", 7)


def test_serving_code_comes_before_tests_and_unmounted_routers(tmp_path: Path) -> None:
    app = "from fastapi import FastAPI\napp = FastAPI()\n@app.post('/v1/x')\ndef f(): ...\n"
    loose = "from fastapi import APIRouter\nrouter = APIRouter()\n@router.post('/v1/x')\ndef f(): ...\n"
    found = routes(tmp_path, {"a_loose.py": loose, "server.py": app, "tests/test_app.py": app}).resolve("POST", "/v1/x")
    assert found.matches[0].file == "server.py"


@pytest.mark.parametrize(
    ("pattern", "path", "taken"),
    [
        ("/a", "/a", True),
        ("/a", "/a/", True),
        ("/a", "/ab", False),
        ("/a/{n}", "/a/1", True),
        ("/a/{n}", "/a/1/2", False),
        ("/a/{n:path}", "/a/1/2", True),
        ("/a/<int:n>", "/a/1", True),
        ("/a/<path:n>/b", "/a/1/2/b", True),
        ("/a.b/{n}", "/axb/1", False),
        ("/{n}", "/a", False),
        ("/a/{n}(", "/a/1(", True),
    ],
)
def test_paths(pattern: str, path: str, taken: bool) -> None:
    assert path_matches(pattern, path) is taken


@given(st.text("/{}<>:a*.(", max_size=20), st.text("/{}<>:a*.(", max_size=20))
def test_any_pattern_and_path_can_be_asked(pattern: str, path: str) -> None:
    path_matches(pattern, path)
    assert isinstance(join(pattern, path), str)


def test_the_condition_is_that_of_the_very_function_which_registers(tmp_path: Path) -> None:
    router = "from fastapi import APIRouter\nrouter = APIRouter()\n@router.post('/{}')\ndef f(): ...\ndef attach(app):\n    app.include_router(router)\n"
    files = {
        "one.py": router.replace("{}", "one"),
        "two.py": router.replace("{}", "two"),
        "app.py": (
            "from fastapi import FastAPI\ndef make(args):\n    app = FastAPI()\n    if args.one:\n        from one import attach as first\n"
            "        first(app)\n    if args.two:\n        from two import attach as second\n        second(app)\n    return app\n"
        ),
    }
    for path, source in files.items():
        (tmp_path / path).write_text(source)
    ground = ground_of(open_index(open_tree(tmp_path), keep=False))
    found = [conditions_of(ground, ground.resolve("POST", path).matches[0]) for path in ("/one", "/two")]
    assert [[(c.file, c.line, c.test) for c in conditions] for conditions in found] == [
        [("app.py", 4, "args.one")],
        [("app.py", 7, "args.two")],
    ]
