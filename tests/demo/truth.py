"""Which line of the demo's server really refuses a request: found by letting it refuse.

The server runs in this process. An exception is followed to its first cause and there to the innermost
frame inside the server; an answer that is built and returned is followed to the line that built it, or, where
its text came back from another function, to that function's return; a schema error to the declaration of the field.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import functools
import importlib
import inspect
import json
import pkgutil
import sys
import traceback
import typing
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, NamedTuple
from unittest import mock

import httpx
import pydantic
from fastapi import APIRouter, FastAPI
from fastapi.exceptions import RequestValidationError
from refusals import Refusal
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route

from llmdebug.demo import model, nanoserve
from llmdebug.demo.nanoserve.app import create_app
from llmdebug.demo.nanoserve.settings import Settings
from llmdebug.demo.server import SOURCE

PASS_THROUGH = {"raise_exception"}
"""Functions that only raise what their caller says: the caller is the site."""

Handler = Callable[[Request, Exception], Awaitable[Response]]


class Site(NamedTuple):
    file: str
    """Relative to `SOURCE`."""
    line: int


class Truth(NamedTuple):
    sites: tuple[Site, ...]
    """The line that refuses, then others that an expert accepts, such as the raise of a wrapper around it."""
    status: int
    text: str
    """The answer's body."""


def make_app(refusal: Refusal) -> FastAPI:
    """The app that gives this refusal; one for all refusals of the same flags."""
    return _app(json.dumps(refusal.flags, sort_keys=True))


@functools.cache
def _app(flags: str) -> FastAPI:
    return create_app(model.FOLDER, Settings(**json.loads(flags)))


def true_site(app: FastAPI, refusal: Refusal) -> Site | None:
    """None: no line of the server refuses, the path is not served."""
    return next(iter(truth(app, refusal).sites), None)


def truth(app: FastAPI, refusal: Refusal) -> Truth:
    watch = _Watch()
    with watch.over(app):
        status, text = asyncio.run(_send(app, refusal, watch))
    return Truth(tuple(dict.fromkeys(_sites(app, refusal, watch))), status, text)


async def _send(app: FastAPI, refusal: Refusal, watch: _Watch) -> tuple[int, str]:
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://demo") as client:
        answer = await client.request(
            refusal.method, refusal.path, content=refusal.content, headers=refusal.all_headers
        )
    return answer.status_code, answer.text


class _Watch:
    """Sees how a refusal comes about: the exception, the answer that was built, the texts that functions returned."""

    def __init__(self) -> None:
        self.exception: BaseException | None = None
        self.raised: list[Site] = []
        """Taken at once: the framework drops tracebacks when it has answered."""
        self.endpoint: Callable[..., Any] | None = None
        self.built: list[Site] = []
        self._returned: dict[str, Site] = {}

    @contextlib.contextmanager
    def over(self, app: FastAPI) -> Iterator[None]:
        handlers: dict[Any, Any] = {
            key: self._handler(typing.cast(Handler, handler)) for key, handler in app.exception_handlers.items()
        }
        handlers[500] = self._crash
        with contextlib.ExitStack() as stack:
            stack.enter_context(mock.patch.object(app, "exception_handlers", handlers))
            stack.enter_context(mock.patch.object(app, "middleware_stack", None))
            for module in _modules():
                if hasattr(module, "create_error_response"):
                    builder = self._builder(module.create_error_response)
                    stack.enter_context(mock.patch.object(module, "create_error_response", builder))
            stack.callback(sys.settrace, sys.gettrace())
            sys.settrace(self._trace)
            yield

    def _handler(self, handler: Handler) -> Handler:
        @functools.wraps(handler)
        async def watched(request: Request, exc: Exception) -> Response:
            self._saw(exc, request)
            return await handler(request, exc)

        return watched

    async def _crash(self, request: Request, exc: Exception) -> Response:
        self._saw(exc, request)
        return Response("Internal Server Error", status_code=500)

    def _saw(self, exc: BaseException, request: Request | None = None) -> None:
        if self.exception is None:
            self.exception = exc
            self.raised = list(_raise_sites(exc))
        if request is not None:
            self.endpoint = request.scope.get("endpoint")

    def _builder(self, build: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(build)
        def watched(message: str, *args: Any, **kwargs: Any) -> Any:
            if (handled := sys.exc_info()[1]) is not None:
                self._saw(handled)
            else:
                if message in self._returned:
                    self.built.append(self._returned[message])
                self.built += _call_sites(sys._getframe(1))
            return build(message, *args, **kwargs)

        return watched

    def _trace(self, frame: FrameType, event: str, arg: object) -> Any:
        return self._trace_return if _inside(frame.f_code.co_filename) else None

    def _trace_return(self, frame: FrameType, event: str, arg: object) -> Any:
        if event == "return" and isinstance(arg, str):
            self._returned[arg] = Site(_relative(frame.f_code.co_filename), frame.f_lineno)
        return self._trace_return


def _sites(app: FastAPI, refusal: Refusal, watch: _Watch) -> Iterator[Site]:
    if isinstance(watch.exception, RequestValidationError):
        assert watch.endpoint is not None
        yield from _schema_sites(watch.exception, watch.endpoint)
        return
    yield from watch.raised
    yield from watch.built
    if not watch.raised and not watch.built:
        yield from _router_sites(app, refusal)


def _raise_sites(exc: BaseException) -> Iterator[Site]:
    chain = [exc]
    while (cause := chain[-1].__cause__) is not None:
        chain.append(cause)
    for link in reversed(chain):
        frames = [frame for frame in reversed(traceback.extract_tb(link.__traceback__)) if _inside(frame.filename)]
        frames.sort(key=lambda frame: frame.name in PASS_THROUGH)
        if frames:
            yield Site(_relative(frames[0].filename), frames[0].lineno or 0)
        yield from (
            Site(_relative(frame.filename), frame.lineno or 0) for frame in frames if frame.name in PASS_THROUGH
        )


def _schema_sites(exc: RequestValidationError, endpoint: Callable[..., Any]) -> Iterator[Site]:
    errors = exc.errors()
    crash = errors[0].get("ctx", {}).get("error")
    if isinstance(crash, BaseException):
        yield from _raise_sites(crash)
        return
    if errors[0]["loc"][0] == "query":
        yield _parameter_site(endpoint, errors[0]["loc"][1])
        return
    name, body = _body_parameter(endpoint)
    paths = [_model_path(body, error["loc"][1:]) for error in errors]
    deepest = max(paths, key=len)
    if deepest:
        yield _field_site(*deepest[-1])
        return
    function = _definition(endpoint)
    if errors[0]["type"] == "json_invalid":
        yield Site(_file(endpoint), function.lineno)
    yield _parameter_site(endpoint, name)
    yield Site(_file(endpoint), function.lineno)
    yield from (Site(_file(endpoint), decorator.lineno) for decorator in function.decorator_list)
    yield Site(_file(body), _class(body).lineno)


def _call_sites(frame: FrameType) -> Iterator[Site]:
    """The statement that the frame is in, then the line of the call itself, which may stand lower."""
    file = frame.f_code.co_filename
    around = [
        node.lineno
        for node in ast.walk(_syntax(file))
        if isinstance(node, ast.stmt) and node.lineno <= frame.f_lineno <= (node.end_lineno or 0)
    ]
    yield Site(_relative(file), max(around))
    yield Site(_relative(file), frame.f_lineno)


def _model_path(body: type[pydantic.BaseModel], loc: tuple[Any, ...]) -> list[tuple[type[pydantic.BaseModel], str]]:
    """The fields that a location walks through; steps that name a union's branch or an index are passed over."""
    path = []
    current: type[pydantic.BaseModel] | None = body
    for step in loc:
        if current is not None and isinstance(step, str) and step in current.model_fields:
            path.append((current, step))
            current = next(_models_in(current.model_fields[step].annotation), None)
    return path


def _models_in(annotation: Any) -> Iterator[type[pydantic.BaseModel]]:
    if inspect.isclass(annotation) and issubclass(annotation, pydantic.BaseModel):
        yield annotation
    for argument in typing.get_args(annotation):
        yield from _models_in(argument)


def _field_site(owner: type[pydantic.BaseModel], field: str) -> Site:
    declaring = next(base for base in owner.__mro__ if field in inspect.get_annotations(base))
    for statement in _class(declaring).body:
        if isinstance(statement, ast.AnnAssign) and ast.unparse(statement.target) == field:
            return Site(_file(declaring), statement.lineno)
    raise LookupError(f"{declaring.__name__}.{field}")


def _body_parameter(endpoint: Callable[..., Any]) -> tuple[str, type[pydantic.BaseModel]]:
    for name, parameter in inspect.signature(endpoint, eval_str=True).parameters.items():
        for body in _models_in(parameter.annotation):
            return name, body
    raise LookupError(endpoint.__name__)


def _parameter_site(endpoint: Callable[..., Any], name: str) -> Site:
    arguments = _definition(endpoint).args.args
    return Site(_file(endpoint), next(argument.lineno for argument in arguments if argument.arg == name))


def _router_sites(app: FastAPI, refusal: Refusal) -> Iterator[Site]:
    path = refusal.path.split("?")[0]
    scope = {"type": "http", "method": refusal.method, "path": path, "root_path": "", "headers": []}
    for router in _routers():
        for route in (route for route in router.routes if isinstance(route, Route)):
            if route.matches(dict(scope))[0] is Match.PARTIAL:
                function = _definition(route.endpoint)
                yield Site(_file(route.endpoint), function.decorator_list[0].lineno)
                yield Site(_file(route.endpoint), function.lineno)
            elif route.matches(dict(scope))[0] is Match.FULL and path not in app.openapi()["paths"]:
                yield from _condition_sites(router)
                yield Site(_file(route.endpoint), _definition(route.endpoint).decorator_list[0].lineno)


def _condition_sites(router: APIRouter) -> Iterator[Site]:
    """The `if` under which the app takes in this router."""
    names = {name for module in _modules() for name, value in vars(module).items() if value is router}
    for node in ast.walk(_syntax(str(SOURCE / "app.py"))):
        if isinstance(node, ast.If):
            for call in ast.walk(node):
                if isinstance(call, ast.Call) and any(name in ast.unparse(call) for name in names):
                    yield Site("app.py", node.lineno)
                    yield Site("app.py", call.lineno)


def _routers() -> list[APIRouter]:
    found = [value for module in _modules() for value in vars(module).values() if isinstance(value, APIRouter)]
    return list({id(router): router for router in found}.values())


@functools.cache
def _modules() -> tuple[ModuleType, ...]:
    names = [info.name for info in pkgutil.iter_modules(nanoserve.__path__)]
    return tuple(importlib.import_module(f"{nanoserve.__name__}.{name}") for name in names)


@functools.cache
def _syntax(file: str) -> ast.Module:
    return ast.parse(Path(file).read_text(encoding="utf-8"))


def _definition(function: Callable[..., Any]) -> ast.AsyncFunctionDef:
    for node in ast.walk(_syntax(inspect.getfile(function))):
        if isinstance(node, ast.AsyncFunctionDef) and node.name == function.__name__:
            return node
    raise LookupError(function.__name__)


def _class(cls: type) -> ast.ClassDef:
    for node in ast.walk(_syntax(inspect.getfile(cls))):
        if isinstance(node, ast.ClassDef) and node.name == cls.__name__:
            return node
    raise LookupError(cls.__name__)


def _file(thing: Any) -> str:
    return _relative(inspect.getfile(thing))


def _inside(file: str) -> bool:
    return Path(file).is_relative_to(SOURCE)


def _relative(file: str) -> str:
    return Path(file).relative_to(SOURCE).as_posix()
