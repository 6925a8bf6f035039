"""Statements that refuse, in every form in which servers write them."""

from __future__ import annotations

from textwrap import dedent

import pytest

from llmdebug.index.facts import Rejection
from llmdebug.index.python.extract import extract


def rejections(code: str) -> list[Rejection]:
    facts = extract("a.py", dedent(code).encode())
    assert not facts.problem
    return list(facts.rejections)


def shown(rejection: Rejection) -> list[str]:
    """The templates with `{}` for holes."""
    return ["".join("{}" if part is None else part for part in t.parts) for t in rejection.templates]


FORMS: list[tuple[str, str, int, str, str, str, int | None, str | None]] = [
    # name, body of the function, line in it, role, text, raised, status, param
    ("raise", "raise ValueError('n must be positive')", 1, "raises", "n must be positive", "ValueError", None, None),
    ("raise a class of a module", "raise errors.BadRequest('no such role')", 1, "raises", "no such role", "BadRequest", None, None),
    ("raise from", "raise ValueError('bad schema') from None", 1, "raises", "bad schema", "ValueError", None, None),
    ("status by number", "raise HTTPException(status_code=404, detail='no such model')", 1, "raises", "no such model", "HTTPException", 404, None),
    ("status by place", "raise HTTPException(422, 'no such model')", 1, "raises", "no such model", "HTTPException", 422, None),
    ("status by name", "raise HTTPException(HTTPStatus.BAD_REQUEST, 'no such model')", 1, "raises", "no such model", "HTTPException", 400, None),
    ("status of starlette", "raise HTTPException(status_code=status.HTTP_403_FORBIDDEN, detail='not you')", 1, "raises", "not you", "HTTPException", 403, None),
    ("status value", "raise HTTPException(HTTPStatus.BAD_REQUEST.value, 'no such model')", 1, "raises", "no such model", "HTTPException", 400, None),
    ("param", "raise InvalidRequest(message='is too long', param='prompt')", 1, "raises", "is too long", "InvalidRequest", None, "prompt"),
    ("detail object", "raise HTTPException(400, detail={'error': 'no prompt given', 'type': 'invalid'})", 1, "raises", "no prompt given", "HTTPException", 400, None),
    ("local raised later", "error = ValueError('is too long')\nif n:\n    raise error", 3, "raises", "is too long", "ValueError", None, None),
    ("text raised later", "msg = f'{n} is too long'\nlogger.info(msg)\nraise ValueError(msg)", 3, "raises", "{} is too long", "ValueError", None, None),
    ("one of two texts", "if n:\n    msg = 'first thing'\nelse:\n    msg = 'second thing'\nraise ValueError(msg)", 5, "raises", "first thing|second thing", "ValueError", None, None),
    ("assert", "assert n > 0, 'n must be positive'", 1, "raises", "n must be positive", "AssertionError", None, None),
    ("assert without a text", "assert n > 0", 1, "raises", "", "AssertionError", None, None),
    ("raise without a text", "raise NotImplementedError", 1, "raises", "", "NotImplementedError", None, None),
    ("helper", "return self.create_error_response('no such model', status_code=404)", 1, "returns", "no such model", "create_error_response", 404, None),
    ("helper with keywords", "return create_error(message='is too long', err_type='x', param='prompt')", 1, "returns", "is too long", "create_error", None, "prompt"),
    ("returned text", "return 'n must be positive'", 1, "returns", "n must be positive", "", None, None),
    ("returned pair", "return False, 'n must be positive'", 1, "returns", "n must be positive", "", None, None),
    ("returned dict", "return {'error': 'is too long'}", 1, "returns", "is too long", "", None, None),
    ("response", "return JSONResponse({'detail': 'is too long'}, status_code=413)", 1, "returns", "is too long", "JSONResponse", 413, None),
    ("response with a nested error", "return JSONResponse(content={'error': {'message': 'is too long', 'type': 'x'}}, status_code=400)", 1, "returns", "is too long", "JSONResponse", 400, None),
    ("flask pair", "return jsonify({'error': 'is too long'}), 400", 1, "returns", "is too long", "", 400, None),
    ("response without a text", "return Response(status_code=401)", 1, "returns", "", "Response", 401, None),
    ("aiohttp", "raise web.HTTPBadRequest(text='is too long')", 1, "raises", "is too long", "HTTPBadRequest", None, None),
    ("yielded error", "yield json.dumps({'error': 'engine died'})", 1, "returns", "engine died", "dumps", None, None),
    ("yielded event", "yield f'data: {json.dumps(x)} is broken'", 1, "returns", "data: {} is broken", "", None, None),
    ("sent by hand", "self.send_error(400, 'is too long')", 1, "checks", "is too long", "send_error", 400, None),
    ("awaited", "await websocket.send_json({'error': 'is too long'})", 1, "checks", "is too long", "send_json", None, None),
    ("collected", "errors.append('n must be positive')", 1, "checks", "n must be positive", "append", None, None),
    ("aborted", "abort(400, description='is too long')", 1, "checks", "is too long", "abort", 400, None),
    ("kept error", "result = ErrorResponse(message='is too long')", 1, "checks", "is too long", "ErrorResponse", None, None),
    ("kept dict", "body = {'error': 'is too long'}", 1, "checks", "is too long", "", None, None),
    ("kept text", "title = 'some words here'", 1, "internal", "some words here", "", None, None),
    ("awaited return", "return await self.error('is too long')", 1, "returns", "is too long", "error", None, None),
    ("conditional text", "raise ValueError('too long' if n else 'too short')", 1, "raises", "too long|too short", "ValueError", None, None),
    ("lines", "raise ValueError(\n    'first line, '\n    f'second {n} line'\n)", 1, "raises", "first line, second {} line", "ValueError", None, None),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "code", "line", "role", "text", "raised", "status", "param"), FORMS, ids=[row[0] for row in FORMS]
)
def test_forms(
    name: str, code: str, line: int, role: str, text: str, raised: str, status: int | None, param: str | None
) -> None:
    body = "\n".join(f"        {row}" for row in code.splitlines())
    source = f"from http import HTTPStatus\nclass Server:\n    async def check(self, n):\n{body}\n"
    found = [r for r in extract("a.py", source.encode()).rejections if r.line == 3 + line]
    assert len(found) == 1
    rejection = found[0]
    assert rejection.symbol == "Server.check"
    assert rejection.role == role
    assert "|".join(shown(rejection)) == text
    assert (rejection.raised, rejection.status, rejection.param) == (raised, status, param)
    assert rejection.end_line == 3 + (len(code.splitlines()) if name == "lines" else line)


@pytest.mark.parametrize(
    "code",
    [
        "logger.error('n must be positive')",
        "logging.warning('n must be positive')",
        "self.logger.info('n must be positive')",
        "print('n must be positive')",
        "return n",
        "return {'choices': [], 'n': n}",
        "n = 5",
        "raise_later()",
        "'a docstring of words'",
    ],
)
def test_what_refuses_nothing(code: str) -> None:
    assert rejections(f"def f(n):\n    {code}\n") == []


def test_an_exception_class_that_makes_its_text() -> None:
    code = """
    class TooLong(Exception):
        def __init__(self, n):
            super().__init__(f"a prompt of {n} tokens is too long")
    """
    (found,) = rejections(code)
    assert found.symbol == "TooLong.__init__"
    assert shown(found) == ["a prompt of {} tokens is too long"]


def test_an_exception_class_with_a_text_of_its_own() -> None:
    code = """
    class TooLong(Exception):
        message = "this prompt is too long"
        status_code = 400
    """
    assert ["this prompt is too long"] in [shown(r) for r in rejections(code)]


def test_templates_are_few_and_hold_words() -> None:
    code = "def f(a):\n    raise ValueError({}, '1', '-', a)\n".format(
        ", ".join(f"'text number {n}'" for n in range(50))
    )
    (found,) = rejections(code)
    assert len(found.templates) == 12
    assert all("text number" in text for text in shown(found))


def test_many_choices_do_not_multiply() -> None:
    choices = " + ".join(f"('one {n} ' if a else 'two {n} ')" for n in range(30))
    (found,) = rejections(f"def f(a):\n    raise ValueError({choices})\n")
    assert 1 <= len(found.templates) <= 12


def test_nested_functions_and_methods_have_whole_names() -> None:
    code = """
    class Server:
        class Inner:
            def check(self):
                def really():
                    raise ValueError('deep down here')
    raise SystemExit('at the top level')
    """
    assert [(r.symbol, shown(r)) for r in rejections(code)] == [
        ("Server.Inner.check.really", ["deep down here"]),
        ("", ["at the top level"]),
    ]


@pytest.mark.parametrize(
    "block",
    [
        "if n:\n    {}",
        "if n:\n    pass\nelse:\n    {}",
        "if n:\n    pass\nelif m:\n    {}",
        "for x in n:\n    {}",
        "for x in n:\n    pass\nelse:\n    {}",
        "async for x in n:\n    {}",
        "while n:\n    {}",
        "with n:\n    {}",
        "async with n:\n    {}",
        "try:\n    {}\nexcept E:\n    pass",
        "try:\n    pass\nexcept E:\n    {}",
        "try:\n    pass\nexcept E:\n    pass\nelse:\n    {}",
        "try:\n    pass\nfinally:\n    {}",
        "try:\n    pass\nexcept* E:\n    {}",
        "match n:\n    case 1:\n        {}",
    ],
)
def test_every_block_is_looked_into(block: str) -> None:
    lines = block.format("raise ValueError('found in here')").splitlines()
    code = "async def f(n, m):\n" + "\n".join(f"    {line}" for line in lines) + "\n"
    assert [shown(r) for r in rejections(code)] == [["found in here"]]
