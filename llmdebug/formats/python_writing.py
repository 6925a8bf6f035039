"""A request as a Python script that sends it: with httpx, or with the openai client.

`{{secret:NAME}}` becomes `os.environ["NAME"]`. A JSON body is written as a Python value where that says the same;
its spelling (blanks, order of equal keys) is then Python's.
"""

from __future__ import annotations

import json
import pprint
import re
from typing import Any

from llmdebug.http.baseurl import route_candidates, split
from llmdebug.http.exchange import Headers, Request, header
from llmdebug.jsontext.parse import JsonError, parse_json
from llmdebug.jsontext.patch import same

_SECRET = re.compile(r"\{\{secret:([A-Za-z_][\w.-]*)\}\}")
_ADDED_WHEN_SENT = frozenset({"content-length", "transfer-encoding", "accept-encoding", "connection"})
_WIDTH = 110

_CALLS = {
    "/chat/completions": "chat.completions.create",
    "/completions": "completions.create",
    "/embeddings": "embeddings.create",
    "/responses": "responses.create",
    "/moderations": "moderations.create",
}
_SHARED = "model stream user metadata temperature top_p store"
_KNOWN = {
    "/chat/completions": _SHARED
    + " messages audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens max_tokens"
    " modalities n parallel_tool_calls prediction presence_penalty prompt_cache_key reasoning_effort response_format"
    " safety_identifier seed service_tier stop stream_options tool_choice tools top_logprobs verbosity"
    " web_search_options",
    "/completions": "model stream user temperature top_p prompt best_of echo frequency_penalty logit_bias logprobs"
    " max_tokens n presence_penalty seed stop stream_options suffix",
    "/embeddings": "model input dimensions encoding_format user",
    "/responses": _SHARED
    + " input background conversation include instructions max_output_tokens max_tool_calls parallel_tool_calls"
    " previous_response_id prompt prompt_cache_key reasoning safety_identifier service_tier stream_options text"
    " tool_choice tools top_logprobs truncation",
    "/moderations": "model input",
}
"""Arguments of the client's methods; what else a body holds goes into `extra_body`."""


def httpx_script(request: Request) -> str:
    """A script that sends the request with httpx and prints the answer."""
    body, value = _body(request)
    headers = [(name, text) for name, text in request.headers if _is_written(name, text, request)]
    if value is not None:
        headers = [
            (name, text) for name, text in headers if (name.lower(), text) != ("content-type", "application/json")
        ]
    arguments = [_text(request.method), _text(request.url)]
    if headers:
        listed = "".join(f"        ({_text(name)}, {_text(text)}),\n" for name, text in headers)
        arguments.append(f"headers=[\n{listed}    ]")
    if value is not None:
        arguments.append(f"json={_value(value, 9)}")
    elif body:
        arguments.append(f"content={_bytes(body)}")
    arguments.append("timeout=600")
    lines = "".join(f"    {argument},\n" for argument in arguments)
    if isinstance(value, dict) and value.get("stream") is True:
        call = (
            f"with httpx.stream(\n{lines}) as response:\n    print(response.status_code)\n"
            "    for line in response.iter_lines():\n        print(line)\n"
        )
    else:
        call = f"response = httpx.request(\n{lines})\nprint(response.status_code)\nprint(response.text)\n"
    return _imports(call, "httpx") + call


def openai_script(request: Request) -> str:
    """A script that sends the request with the openai client, as near as it can; what it adds, it adds."""
    value = _body(request)[1]
    base, route = _client_base(request.url)
    call = _CALLS.get(route)
    if route == "/models" and request.method == "GET":
        call, arguments = "models.list", [""]
    elif call is not None and request.method == "POST" and isinstance(value, dict):
        arguments = _arguments(value, frozenset(_KNOWN[route].split()))
    else:
        call = "request" if request.method not in ("GET", "POST", "PUT", "PATCH", "DELETE") else request.method.lower()
        arguments = [f"    {_text(route)},", "    cast_to=object,"]
        if value is not None:
            arguments.append(f"    body={_value(value, 9)},")
    extra = _extra_headers(request.headers)
    if extra and arguments != [""]:
        arguments.append(
            f"    extra_headers={extra}," if call in _CALLS.values() else f'    options={{"headers": {extra}}},'
        )
    inside = "\n".join(arguments)
    sent = f"client.{call}(\n{inside}\n)" if inside else f"client.{call}()"
    client = f"client = openai.OpenAI(\n    base_url={_text(base)},\n    api_key={_api_key(request.headers)},\n)\n"
    if isinstance(value, dict) and value.get("stream") is True:
        text = f"{client}\nfor event in {sent}:\n    print(event)\n"
    else:
        text = f"{client}\nresponse = {sent}\nprint(response)\n"
    return _imports(text, "openai") + text


def _imports(text: str, module: str) -> str:
    """`os` only where a secret is taken from the environment."""
    return f"import os\n\nimport {module}\n\n" if "os.environ[" in text else f"import {module}\n\n"


def _client_base(url: str) -> tuple[str, str]:
    """The client's base URL, and the route behind it with its query: the client's routes know no version."""
    origin, path = split(url)
    query = url.partition("#")[0].partition("?")[2]
    for route in reversed(route_candidates(path)):
        if route in _CALLS or route == "/models":
            found = "/" + route.lstrip("/")
            if route == "/completions" and path.endswith("/chat/completions"):
                continue
            return origin + path[: len(path) - len(found)], found + (f"?{query}" if query else "")
    return origin, path + (f"?{query}" if query else "")


def _arguments(body: dict[str, Any], known: frozenset[str]) -> list[str]:
    named = [f"    {name}={_value(value, len(name) + 5)}," for name, value in body.items() if name in known]
    extra = {name: value for name, value in body.items() if name not in known}
    return named + ([f"    extra_body={_value(extra, 15)},"] if extra else [])


def _api_key(headers: Headers) -> str:
    """The client wants one; servers that check none take any."""
    value = header(headers, "Authorization") or ""
    scheme, _, token = value.partition(" ")
    return _text(token.strip()) if scheme.lower() == "bearer" and token.strip() else '"none"'


def _extra_headers(headers: Headers) -> str:
    """Repeated ones cannot be said; the last counts."""
    sent = {"content-type", "accept", "host", "user-agent", *_ADDED_WHEN_SENT}
    kept = {name: value for name, value in headers if name.lower() not in sent}
    bearer = {
        name for name, value in kept.items() if name.lower() == "authorization" and value.lower().startswith("bearer ")
    }
    pairs = [f"{_text(name)}: {_text(value)}" for name, value in kept.items() if name not in bearer]
    return "{" + ", ".join(pairs) + "}" if pairs else ""


def _is_written(name: str, value: str, request: Request) -> bool:
    place = request.url.partition("://")[2].partition("/")[0].rpartition("@")[2]
    return name.lower() not in _ADDED_WHEN_SENT and not (name.lower() == "host" and value == place)


def _body(request: Request) -> tuple[bytes, Any]:
    """The bytes, and the value that is sent as JSON in their place; None where that would say something else."""
    content_type = (header(request.headers, "Content-Type") or "").partition(";")[0].strip().lower()
    if not request.body or content_type != "application/json":
        return request.body, None
    try:
        document = parse_json(request.body)
        again = json.loads(json.dumps(document.value))
    except (JsonError, ValueError, RecursionError):
        return request.body, None
    plain = isinstance(document.value, dict | list) and not document.non_finite and not document.duplicates
    return request.body, document.value if plain and same(again, document.value) else None


def _value(value: Any, indent: int) -> str:
    """A Python literal, its secrets from the environment."""
    text = pprint.pformat(value, width=_WIDTH, sort_dicts=False, compact=True)
    lines = text.split("\n")
    text = "\n".join([lines[0], *(" " * indent + line for line in lines[1:])])
    if "{{secret:" not in text:
        return text
    return re.sub(r"'[^'\n]*\{\{secret:[^'\n]*'", lambda found: _text(found[0][1:-1]), text)


def _text(text: str) -> str:
    """A string literal; secrets in it are taken from the environment."""
    pieces = _SECRET.split(text)
    parts = [
        f'os.environ["{piece}"]' if at % 2 else json.dumps(piece, ensure_ascii=False)
        for at, piece in enumerate(pieces)
        if piece or len(pieces) == 1
    ]
    return " + ".join(parts)


def _bytes(body: bytes) -> str:
    """Text as text: it goes out as UTF-8."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        return repr(body)
    if "{{secret:" in text or (not text.isprintable() and "\n" not in text):
        return _text(text) if "{{secret:" in text else repr(body)
    return repr(text)
