"""Facts of Go source, and whole diagnoses of a small server in Go."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmdebug.diagnosis.diagnose import diagnose
from llmdebug.diagnosis.preflight import preflight
from llmdebug.diagnosis.verdict import Diagnosis
from llmdebug.http.exchange import Exchange, Request, Response
from llmdebug.index.build import Index, open_index
from llmdebug.index.facts import BODY, HOLE
from llmdebug.index.go.extract import extract
from llmdebug.source.tree import open_tree

TYPES = """package api

type Options struct {
	Sampling
	NumPredict int      `json:"num_predict,omitempty"`
	Stop       []string `json:"stop,omitempty"`
	hidden     int
	Skipped    string `json:"-"`
}

type Sampling struct {
	TopK float32 `json:"top_k"`
}

type Message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type ChatRequest struct {
	Model    string         `json:"model" binding:"required"`
	Messages []Message      `json:"messages"`
	Options  map[string]any `json:"options"`
	Think    *Think         `json:"think,omitempty"`
}

type Think struct{ Value any }

func (t *Think) UnmarshalJSON(data []byte) error {
	return fmt.Errorf("invalid think value: %q (must be a level)", string(data))
}

func (o *Options) FromMap(m map[string]any) error {
	for key, value := range m {
		field, ok := known[key]
		if !ok {
			slog.Warn("invalid option", "option", key)
			continue
		}
	}
	return nil
}
"""
ROUTES = """package server

import (
	"errors"
	"net/http"

	"example.com/small/api"
)

var errBusy = errors.New("server busy, try again")

func (s *Server) ChatHandler(c *gin.Context) {
	var req api.ChatRequest
	if err := c.ShouldBindJSON(&req); err != nil {
		c.AbortWithStatusJSON(http.StatusBadRequest, gin.H{"error": err.Error()})
		return
	}
	if err := s.schedule(req.Model); err != nil {
		c.JSON(http.StatusNotFound, gin.H{"error": fmt.Sprintf("model '%s' not found", req.Model)})
		return
	}
	c.JSON(http.StatusOK, s.render(req.Messages, req.Options, req.Think))
}

func (s *Server) schedule(name string) error {
	if s.full {
		return errBusy
	}
	return nil
}

func (s *Server) render(parts []Part, options any, think any) (string, error) {
	for _, part := range parts {
		switch part.Type {
		case "picture":
			if part.Data == nil {
				return "", errors.New("invalid part of a message")
			}
		case "sound":
			if part.Data == nil {
				return "", errors.New("invalid part of a message") // unheard
			}
		}
	}
	if think != nil {
		return "", fmt.Errorf("%q does not support thinking", s.name)
	}
	return "", nil
}

func (s *Server) Routes() http.Handler {
	r := gin.Default()
	v1 := r.Group("/v1")
	v1.POST("/chat", logged("/v1/chat", guard(), s.ChatHandler)...)
	r.GET("/models/:name", s.Show)
	r.Any("/files/*path", s.Files)
	return r
}
"""


def read(source: str) -> Any:
    return extract("server/routes.go", source.encode())


def test_routes() -> None:
    told = {(r.path, r.methods, r.handler, r.dependencies) for r in read(ROUTES).routes}
    assert ("/v1/chat", ("POST",), "ChatHandler", ("logged", "guard")) in told
    assert ("/models/{name}", ("GET",), "Show", ()) in told
    assert ("/files/{path:path}", ("GET", "POST", "PUT", "DELETE", "PATCH", "HEAD"), "Files", ()) in told


def test_structs() -> None:
    classes = {c.name: c for c in read(TYPES).classes}
    options = classes["Options"]
    assert [(f.aliases, f.annotation) for f in options.fields] == [
        (("num_predict",), "Optional[int]"),
        (("stop",), "Optional[list[str]]"),
    ]
    assert options.bases == ("Sampling", "Struct")
    assert (options.extra, options.extra_line) == ("ignore", TYPES[: TYPES.index("slog.Warn")].count("\n") + 1)
    request = {f.name: f for f in classes["ChatRequest"].fields}
    assert request["Model"].default is None
    assert request["Messages"].annotation == "Optional[list[Message]]"
    assert request["Options"].annotation == "Optional[Options]"


def test_functions_and_refusals() -> None:
    facts = read(ROUTES)
    functions = {f.name: f for f in facts.functions}
    bound = functions["Server.ChatHandler"].parameters
    assert [(p.name, p.annotation, p.default) for p in bound] == [("req", "api.ChatRequest", BODY)]
    assert ROUTES.splitlines()[bound[0].line - 1].strip().startswith("c.AbortWithStatusJSON")
    assert "self.schedule" in functions["Server.ChatHandler"].calls
    told = {(r.symbol, r.templates[0].parts, r.status) for r in facts.rejections}
    assert ("Server.ChatHandler", ("model '", HOLE, "' not found"), 404) in told
    assert ("Server.schedule", ("server busy, try again",), None) in told


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    folder: Path = tmp_path_factory.mktemp("small")
    for name, source in {"api/types.go": TYPES, "server/routes.go": ROUTES}.items():
        (folder / name).parent.mkdir()
        (folder / name).write_text(source)
    (folder / "convert.py").write_text("print('no server')\n")
    return open_index(open_tree(folder), keep=False)


def asked(index: Index, body: object, status: int, answer: object) -> Diagnosis:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = Request(method="POST", url="http://127.0.0.1:11434/v1/chat", body=raw)
    response = Response(status=status, headers=(), body=json.dumps(answer).encode())
    return diagnose(Exchange(request=request, response=response), [index])


CHAT = {"model": "tiny", "messages": [{"role": "user", "content": "hi"}]}


@pytest.mark.parametrize(
    ("body", "error", "kind", "pointer", "line"),
    [
        (
            {**CHAT, "messages": [{"role": "user", "content": "hi"}, {"role": "user", "content": [1]}]},
            "json: cannot unmarshal array into Go struct field ChatRequest.messages.content of type string",
            "wrong_type",
            "/messages/1/content",
            "Content string",
        ),
        (CHAT, "model 'tiny' not found", "model_not_found", "/model", "model '%s' not found"),
        (CHAT, "server busy, try again", "other", "", "return errBusy"),
        (b"{'model'}", "invalid character '\\'' looking for beginning of object key string", "malformed_json", "", "Abort"),
    ],
)  # fmt: skip
def test_refusals(body: Any, error: str, kind: str, pointer: str, line: str, index: Index) -> None:
    found = asked(index, body, 404 if "not found" in error else 503 if "busy" in error else 400, {"error": error})
    marked = [row for row in found.sites[0].excerpt.splitlines() if "▶" in row]
    assert (found.kind, line in marked[0]) == (kind, True)
    assert not pointer or found.fields[0].pointer == pointer


def test_ignored_fields(index: Index) -> None:
    found = asked(index, {**CHAT, "top_k": 1, "options": {"top_k": 1, "max_tokens": 3}}, 200, {"message": {}})
    assert (found.kind, sorted(found.ignored)) == ("ignored_field", ["/options/max_tokens", "/top_k"])
    assert asked(index, CHAT, 200, {"message": {}}).kind == "none"


def test_preflight(index: Index) -> None:
    def foreseen(body: object) -> str:
        url = "http://127.0.0.1:11434/v1/chat"
        return preflight(Request(method="POST", url=url, body=json.dumps(body).encode()), [index]).kind

    assert foreseen({"messages": []}) == "missing_field"
    assert foreseen({**CHAT, "messages": "hi"}) == "wrong_type"
    assert foreseen({**CHAT, "think": "high"}) == "none"
    assert foreseen(CHAT) == "none"


@given(st.binary(max_size=200) | st.lists(st.sampled_from(ROUTES.split(" ") + TYPES.split("\n"))).map(" ".join))
def test_no_source_makes_it_raise(source: bytes | str) -> None:
    extract("x.go", source if isinstance(source, bytes) else source.encode())


def test_twins_are_told_apart_by_the_words_before_them(index: Index) -> None:
    found = asked(index, {**CHAT, "messages": [{"type": "sound"}]}, 400, {"error": "invalid part of a message"})
    row = next(row for row in found.sites[0].excerpt.splitlines() if "▶" in row)
    assert int(row.split()[0]) == ROUTES[: ROUTES.index("unheard")].count("\n") + 1


def test_what_is_not_supported_is_blamed(index: Index) -> None:
    found = asked(index, {**CHAT, "think": True}, 400, {"error": '"tiny" does not support thinking'})
    assert (found.kind, found.fields[0].pointer) == ("unsupported", "/think")


PYDANTIC = [{"type": "string_type", "loc": ["body", "messages", 0, "content"], "msg": "Input should be a valid string"}]


def test_what_pydantic_says_gets_no_place_in_go(index: Index) -> None:
    found = asked(index, {**CHAT, "messages": [{"role": "user", "content": 1}]}, 422, {"detail": PYDANTIC})
    assert (found.kind, found.fields[0].pointer, found.sites) == ("wrong_type", "/messages/0/content", ())
