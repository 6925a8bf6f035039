"""Files in C++: what the reader makes of them."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from llmdebug.index.cpp.extract import extract
from llmdebug.index.facts import FileFacts, Rejection

SERVER = rb"""
#include "httplib.h"
using json = nlohmann::json;

struct Base { virtual void eval(const json & data) = 0; };
struct Derived : public Base { void eval(const json & data) override { check(data); } };

json format_error(const std::string & message, enum error_type type) {
    int code = 500;
    switch (type) {
        case ERROR_TYPE_INVALID: code = 400; break;
        case ERROR_TYPE_BUSY:
        case ERROR_TYPE_LOADING: code = 503; break;
    }
    return json{{"code", code}, {"message", message}};
}

void Routes::init() {
    this->post_chat = [this](const Request & req) {
        if (!ready) { res->error(format_error("Loading the model", ERROR_TYPE_LOADING)); return; }
        parse_chat(json::parse(req.body));
    };
}

int main() {
    httplib::Server svr;
    const auto handle_props = [&](const httplib::Request & req, httplib::Response & res) { res_ok(res, props()); };
    svr.set_pre_routing_handler([&](const httplib::Request & req, httplib::Response & res) { return has_key(req); });
    svr.Get("/props", handle_props);
    svr.Post(prefix + "/v1/chat", ex_wrapper(routes.post_chat));
    svr.Post("/slots/:id", [&](const httplib::Request & req, httplib::Response & res) {
        res.status = 404;
        res.set_content("{\"error\":\"no slot " + req.path + "\"}", "application/json");
    });
    svr.Get(R"(/files/(\d+))", handle_file);
}

void parse_chat(const json & body) {
    if (!body.contains("messages")) {
        throw std::invalid_argument("'messages' is "
                                    "required");
    }
    std::string err_msg = std::string("Bad sampler: ") + e.what();
    send_error(task, err_msg, ERROR_TYPE_INVALID);
    throw std::runtime_error(string_format("model '%s' has %d layers", name.c_str(), n));
    GGML_ASSERT(ok && "the cache is broken here");
    LOG_ERR("this goes to the log alone\n");
}
"""


def facts() -> FileFacts:
    return extract("server.cpp", SERVER)


def refusal(text: str) -> Rejection:
    found = [r for r in facts().rejections if any(text in (part or "") for t in r.templates for part in t.parts)]
    assert len(found) == 1, found
    return found[0]


def test_paths_are_registered_with_their_handlers() -> None:
    told = {(route.path, route.methods, route.handler) for route in facts().routes}
    assert told == {
        ("/props", ("GET",), "handle_props"),
        ("/v1/chat", ("POST",), "post_chat"),
        ("/slots/{id}", ("POST",), "main.Post /slots/{id}"),
        ("/files/{value}", ("GET",), "handle_file"),
    }


def test_lambdas_are_functions_by_the_name_that_holds_them() -> None:
    functions = {function.name: function for function in facts().functions}
    assert {"Routes.post_chat", "main.handle_props", "main.Post /slots/{id}", "Derived.eval"} <= functions.keys()
    assert "parse_chat" in functions["Routes.post_chat"].calls
    assert "parse_chat" not in functions["Routes.init"].calls


def test_what_sees_each_request_first_is_told() -> None:
    assert facts().middlewares == ("set_pre_routing_handler",)
    assert any(f.name == "main.set_pre_routing_handler" and "has_key" in f.calls for f in facts().functions)


def test_thrown_texts_are_joined_and_formats_get_holes() -> None:
    assert refusal("'messages' is required").raised == "invalid_argument"
    filled = refusal(" layers")
    assert filled.templates[0].parts == ("model '", None, "' has ", None, " layers")
    assert filled.templates[0].holes == ("name", "n")


def test_a_text_in_a_variable_is_the_refusals() -> None:
    found = [r for r in facts().rejections if r.raised == "ERROR_TYPE_INVALID"]
    assert [(r.templates[0].parts, r.templates[0].holes) for r in found] == [(("Bad sampler: ", None), ("e.what",))]


def test_json_written_by_hand_gives_its_message_and_the_status_beside_it() -> None:
    found = refusal("no slot ")
    assert found.status == 404
    assert found.templates[0].parts == ("no slot ", None)


def test_what_errors_are_answered_with_is_told() -> None:
    told = {name: handler.statuses for handler in facts().handlers for name in handler.exceptions}
    assert told == {"ERROR_TYPE_INVALID": (400,), "ERROR_TYPE_BUSY": (503,), "ERROR_TYPE_LOADING": (503,)}


def test_assertions_are_internal_and_logs_refuse_nothing() -> None:
    assert refusal("the cache is broken").role == "internal"
    assert not any("the log alone" in (p or "") for r in facts().rejections for t in r.templates for p in t.parts)


def test_bases_of_a_struct_are_told() -> None:
    assert {known.name: known.bases for known in facts().classes} == {"Base": (), "Derived": ("Base",)}


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.binary(max_size=40),
            st.sampled_from(
                [b"{", b"}", b"(", b'svr.Post("/x", ', b"[&](", b"throw X(", b'"', b'R"(', b"= [", b"case A:"]
            ),
            st.integers(0, len(SERVER)).map(lambda n: SERVER[n : n + 200]),
        ),
        max_size=20,
    ).map(b"".join)
)
def test_nothing_that_a_file_holds_raises(data: bytes) -> None:
    assert extract("any.cpp", data).path == "any.cpp"


def test_deep_nesting_is_no_harm() -> None:
    deep = b"void f() { throw X(" + b'"a" + ' * 3000 + b"b); int x = " + b"(" * 3000 + b"; }"
    assert extract("deep.cpp", deep).problem == ""
