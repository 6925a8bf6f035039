"""Whole diagnoses on a small server in C++: cpp-httplib, nlohmann's JSON, a schema of fields."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from llmdebug.diagnosis.diagnose import diagnose
from llmdebug.diagnosis.verdict import Diagnosis
from llmdebug.http.exchange import Exchange, Request, Response
from llmdebug.index.build import Index, open_index
from llmdebug.source.tree import open_tree

SERVER = r"""
#include "httplib.h"
#include "chat.h"
using json = nlohmann::json;

json format_error(const std::string & message, const enum error_type type) {
    int code = 500;
    switch (type) {
        case ERROR_INVALID_REQUEST: code = 400; break;
        case ERROR_NOT_SUPPORTED: code = 501; break;
    }
    return json{{"code", code}, {"message", message}};
}

static auto wrapper(handler_t func) {
    return [func](const Request & req) {
        try {
            return func(req);
        } catch (const std::invalid_argument & e) {
            error = ERROR_INVALID_REQUEST;
        } catch (const std::exception & e) {
            status = 500;
        }
    };
}

int main() {
    server_routes routes;
    const auto handle_embeddings = [&](const httplib::Request & req, httplib::Response & res) {
        const json body = json::parse(req.body);
        if (!params.embedding) {
            res_error(res, format_error("Start this server with --embeddings", ERROR_NOT_SUPPORTED));
            return;
        }
        if (body.count("input") == 0) {
            res_error(res, format_error("\"input\" must be provided", ERROR_INVALID_REQUEST));
            return;
        }
        const std::string format = body.at("encoding_format");
        for (size_t i = 0; i < body.at("input").size(); i++) {
            const auto & part = body.at("input")[i];
            if (!part.is_string()) {
                res_error(res, format_error("each input must be a string", ERROR_INVALID_REQUEST));
                return;
            }
        }
    };
    svr->set_error_handler([](const httplib::Request &, httplib::Response & res) {
        res.set_content("{\"error\":\"There is no such page\"}", "application/json");
    });
    svr->Post("/v1/chat/completions", wrapper(routes.post_chat));
    svr->Post("/v1/embeddings", handle_embeddings);
}
"""
CHAT = r"""
#include "chat.h"

void server_routes::init() {
    this->post_chat = [this](const Request & req) {
        json body = json::parse(req.body);
        auto fields = make_fields(params);
        return run(parse_messages(body.at("messages")), parse_tools(body), fields);
    };
}

std::vector<field> make_fields(task_params & params) {
    std::vector<field> fields;
    fields.push_back((new field_num("top_p", params.top_p))->set_limits(0.0f, 1.0f));
    fields.push_back((new field_num("max_tokens", params.n_predict))->add_alias("n_predict"));
    params.stream = json_value(data, "stream", false);
    return fields;
}

static std::vector<message> parse_messages(const json & messages) {
    for (const auto & message : messages) {
        std::string role = json_value(message, "role", std::string());
        if (role != "assistant" && !message.contains("content")) {
            throw std::invalid_argument("All messages but the assistant's must have 'content'");
        }
    }
}

static std::vector<tool> parse_tools(const json & body) {
    const auto & tools = body.at("tools");
    try {
        for (const auto & tool : tools) {
            const auto & function = tool.at("function");
            result.push_back({
                function.at("name"),
                function.value("description", ""),
            });
        }
    } catch (const std::exception & e) {
        throw std::runtime_error("Failed to parse tools: " + std::string(e.what()) + "; tools = " + tools.dump(2));
    }
}
"""
FILES = {"examples/server/server.cpp": SERVER, "common/chat.cpp": CHAT}
TWO = {"model": "m", "messages": [{"role": "system", "content": "s"}, {"role": "user", "text": "hi"}]}
TOOLS = {"messages": [], "tools": [{"function": {"name": "f"}}, {"function": {"description": "no name"}}]}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    folder = tmp_path_factory.mktemp("tree")
    for name, source in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(source)
    return open_index(open_tree(str(folder)), keep=False)


def told(index: Index, path: str, body: Any, status: int, answer: Any, method: str = "POST") -> Diagnosis:
    headers = (("content-type", "application/json"),)
    sent = json.dumps(body).encode() if body else b""
    exchange = Exchange(
        request=Request(method=method, url=f"http://127.0.0.1:8080{path}", headers=headers, body=sent),
        response=Response(status=status, headers=headers, body=json.dumps(answer).encode()),
    )
    return diagnose(exchange, [index])


def line_of(name: str, piece: str) -> tuple[str, int]:
    path = next(path for path in FILES if path.endswith(name))
    return path, next(n for n, line in enumerate(FILES[path].splitlines(), 1) if piece in line)


def place(diagnosis: Diagnosis, rank: int = 0) -> tuple[str, int]:
    return diagnosis.sites[rank].file, diagnosis.sites[rank].line


def error(code: int, message: str) -> Mapping[str, Any]:
    return {"error": {"code": code, "message": message}}


def test_the_element_that_fails_the_test_is_blamed(index: Index) -> None:
    said = "All messages but the assistant's must have 'content'"
    diagnosis = told(index, "/v1/chat/completions", TWO, 400, error(400, said))
    assert place(diagnosis) == line_of("chat.cpp", "All messages but")
    assert diagnosis.kind == "missing_field"
    assert diagnosis.fields[0].pointer == "/messages/1/content"
    assert any("answered with 400" in why for why in diagnosis.sites[0].why)


def test_a_key_that_the_library_misses_leads_to_the_line_that_read_it(index: Index) -> None:
    said = "Failed to parse tools: [json.exception.out_of_range.403] key 'name' not found; tools = [{}]"
    diagnosis = told(index, "/v1/chat/completions", TOOLS, 500, error(500, said))
    assert place(diagnosis) == line_of("chat.cpp", 'function.at("name")')
    assert place(diagnosis, 1) == line_of("chat.cpp", "Failed to parse tools")
    assert (diagnosis.kind, diagnosis.fields[0].pointer) == ("missing_field", "/tools/1/function/name")


def test_a_missing_key_at_the_top_is_the_handlers(index: Index) -> None:
    said = "[json.exception.out_of_range.403] key 'messages' not found"
    diagnosis = told(index, "/v1/chat/completions", {"model": "m"}, 500, error(500, said))
    assert place(diagnosis) == line_of("chat.cpp", 'body.at("messages")')
    assert (diagnosis.kind, diagnosis.fields[0].pointer) == ("missing_field", "/messages")


def test_a_type_that_the_library_names_is_that_of_the_value_blamed(index: Index) -> None:
    said = "[json.exception.type_error.302] type must be string, but is number"
    body = {"input": ["a"], "encoding_format": 3, "dimensions": 4}
    diagnosis = told(index, "/v1/embeddings", body, 500, error(500, said))
    assert place(diagnosis) == line_of("server.cpp", 'body.at("encoding_format")')
    assert (diagnosis.kind, diagnosis.fields[0].pointer) == ("wrong_type", "/encoding_format")


def test_a_counted_loop_tries_each_element(index: Index) -> None:
    body = {"input": ["a", 3], "encoding_format": "float"}
    diagnosis = told(index, "/v1/embeddings", body, 400, error(400, "each input must be a string"))
    assert place(diagnosis) == line_of("server.cpp", "each input must be")
    assert diagnosis.fields[0].pointer == "/input/1"


def test_a_mode_that_the_server_was_not_started_in_blames_no_field(index: Index) -> None:
    said = "Start this server with --embeddings"
    diagnosis = told(index, "/v1/embeddings", {"input": "x"}, 501, error(501, said))
    assert place(diagnosis) == line_of("server.cpp", said)
    assert (diagnosis.kind, diagnosis.fields) == ("unsupported", ())


def test_code_that_answers_for_the_router_tells_another_method_and_no_path(index: Index) -> None:
    answer = {"error": "There is no such page"}
    other = told(index, "/v1/embeddings", None, 404, answer, "GET")
    assert (other.kind, place(other)) == ("wrong_method", line_of("server.cpp", '"/v1/embeddings"'))
    none = told(index, "/v1/embed", {"input": "x"}, 404, answer)
    assert (none.kind, place(none)) == ("no_route", line_of("server.cpp", "There is no such page"))


def test_keys_that_no_code_of_the_route_quotes_are_ignored(index: Index) -> None:
    body = {"messages": [], "tools": [], "max_tokens": 3, "suffix": "x", "input": "y"}
    diagnosis = told(index, "/v1/chat/completions", body, 200, {"choices": []})
    assert diagnosis.kind == "ignored_field"
    assert set(diagnosis.ignored) == {"/suffix", "/input"}


def test_a_value_outside_of_its_bounds_that_is_served_was_clamped(index: Index) -> None:
    body = {"messages": [], "tools": [], "top_p": 7}
    diagnosis = told(index, "/v1/chat/completions", body, 200, {"choices": []})
    assert (diagnosis.kind, diagnosis.ignored) == ("ignored_field", ("/top_p",))
    assert place(diagnosis) == line_of("chat.cpp", "set_limits")


@pytest.mark.parametrize("value", [0, 0.5, 1, True, "0.5"])
def test_what_is_read_and_within_its_bounds_raises_no_alarm(index: Index, value: Any) -> None:
    body = {"messages": [], "tools": [], "top_p": value, "n_predict": 2, "stream": False}
    diagnosis = told(index, "/v1/chat/completions", body, 200, {"choices": []})
    assert (diagnosis.kind, diagnosis.ignored) == ("none", ())


def test_a_tree_that_serves_in_python_is_read_in_python_alone(tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text(
        "from fastapi import FastAPI\napp = FastAPI()\n\n@app.post('/v1/chat')\ndef chat(body: dict): ...\n"
    )
    (tmp_path / "server.cpp").write_text(SERVER)
    index = open_index(open_tree(str(tmp_path)), keep=False)
    assert list(index.paths) == ["server.py"]


def test_a_body_that_is_no_json_leads_to_the_line_that_parses_it(index: Index) -> None:
    said = "[json.exception.parse_error.101] parse error at line 1, column 9: syntax error"
    exchange = Exchange(
        request=Request(method="POST", url="http://127.0.0.1:8080/v1/embeddings", headers=(), body=b'{"input"'),
        response=Response(status=500, headers=(), body=json.dumps(error(500, said)).encode()),
    )
    diagnosis = diagnose(exchange, [index])
    assert diagnosis.kind == "malformed_json"
    assert place(diagnosis) == line_of("server.cpp", "json::parse(req.body)")


def test_a_field_that_is_named_before_the_librarys_words_is_blamed_to_the_element(index: Index) -> None:
    said = "Field 'encoding_format': [json.exception.type_error.302] type must be string, but is number"
    body = {"input": ["a"], "encoding_format": ["x", 3], "dimensions": 4}
    diagnosis = told(index, "/v1/embeddings", body, 400, error(400, said))
    assert place(diagnosis) == line_of("server.cpp", 'body.at("encoding_format")')
    assert diagnosis.fields[0].pointer == "/encoding_format/1"
