"""Whole diagnoses of a server written in Rust, and what its libraries say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmdebug.diagnosis.complaint import read_answer
from llmdebug.diagnosis.diagnose import diagnose
from llmdebug.diagnosis.rules_text import rule_entries
from llmdebug.diagnosis.serde_text import serde_entries
from llmdebug.diagnosis.verdict import Diagnosis
from llmdebug.http.exchange import Exchange, Request, Response
from llmdebug.index.build import Index, open_index
from llmdebug.source.tree import open_tree

SERVER = """\
use crate::errors::AskError;
use crate::types::{ChatRequest, Message};

pub fn app(state: State) -> Router {
    let guarded = Router::new()
        .route("/chat/completions", post(chat))
        .layer(middleware::from_fn(check_key));
    Router::new()
        .nest("/v1", guarded)
        .route(paths::TOKENS.path, post(tokens))
        .route("/rank", post(rank))
        .route("/health", get(health))
}

async fn rank(ValidatedJson(req): ValidatedJson<RankRequest>) -> Json<Ranks> {
    Json(run(req).await)
}

async fn tokens(Json(req): Json<TokensRequest>) -> Result<Json<Tokens>, (StatusCode, String)> {
    match req.source {
        Source::Text { text } if text.is_empty() => {
            let message = "nothing to be done here".to_string();
            Err((StatusCode::BAD_REQUEST, message))
        }
        Source::Words { .. } => {
            let count = req.most.unwrap_or(3);
            if count > LIMIT {
                let message = format!("that is {count}, more than can be done");
                return Err((StatusCode::BAD_REQUEST, message));
            }
            let message = "nothing to be done here".to_string();
            Err((StatusCode::BAD_REQUEST, message))
        }
    }
}

async fn check_key(headers: HeaderMap, request: Request, next: Next) -> Result<Response, StatusCode> {
    if headers.get("authorization").is_none() {
        return Err(StatusCode::UNAUTHORIZED);
    }
    Ok(next.run(request).await)
}

async fn chat(State(state): State<App>, Json(req): Json<ChatRequest>) -> Result<Json<Reply>, ServerError> {
    if req.suffix.is_some() {
        return Err(ServerError::Unsupported("Suffixes are not taken here.".to_string()));
    }
    let checked = state.checker.check(req)?;
    Ok(Json(state.run(checked).await?))
}

impl IntoResponse for ServerError {
    fn into_response(self) -> Response {
        let status = match &self {
            ServerError::Unsupported(_) => StatusCode::BAD_REQUEST,
            ServerError::Ask(_) => StatusCode::UNPROCESSABLE_ENTITY,
        };
        (status, Json(json!({"error": self.to_string()}))).into_response()
    }
}
"""
ERRORS = """\
#[derive(Debug, Error)]
pub enum ServerError {
    #[error("{0}")]
    Unsupported(String),
    #[error("input is not valid: {0}")]
    Ask(#[from] AskError),
}

#[derive(Debug, Error)]
pub enum AskError {
    #[error("`best_of` must be at most {0}, not {1}")]
    BestOf(usize, usize),
    #[error("there must be a message")]
    Empty,
}
"""
CHECK = """\
impl Checker {
    pub fn check(&self, req: ChatRequest) -> Result<ChatRequest, AskError> {
        if req.messages.is_empty() {
            return Err(AskError::Empty);
        }
        if req.best_of.unwrap_or(1) > self.most {
            return Err(AskError::BestOf(self.most, req.best_of.unwrap_or(1)));
        }
        Ok(req)
    }
}
"""
TYPES = """\
#[derive(Deserialize)]
pub struct ChatRequest {
    pub messages: Vec<Message>,
    #[serde(default)]
    pub best_of: Option<usize>,
    #[serde(rename = "maxTokens")]
    pub max_tokens: Option<u32>,
    pub suffix: Option<String>,
    #[serde(default)]
    pub effort: Effort,
}

#[derive(Deserialize, Validate)]
#[validate(schema(function = "check_rank"))]
pub struct RankRequest {
    pub texts: Vec<String>,
    #[validate(range(max = 10))]
    pub most: u32,
}

fn check_rank(req: &RankRequest) -> Result<(), ValidationError> {
    if req.texts.len() < req.most {
        return Err(ValidationError::new("fewer texts than most"));
    }
    Ok(())
}

#[derive(Deserialize)]
pub struct TokensRequest {
    pub source: Source,
    pub most: Option<u32>,
}

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Source {
    Text { text: String },
    Words { words: Vec<String> },
}

#[derive(Deserialize)]
pub struct Message {
    pub role: String,
    pub content: Content,
}

#[derive(Deserialize)]
#[serde(untagged)]
pub enum Content {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Part {
    Text { text: String },
    ImageUrl { image_url: Url },
}

#[derive(Deserialize)]
pub struct Url {
    pub url: String,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    #[default]
    Low,
    High,
}
"""
PATHS = """\
pub struct Info { pub path: &'static str }
pub const TOKENS: Info = Info::new("/tokens/count", "POST");
"""
HI = [{"role": "user", "content": "hi"}]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    root: Path = tmp_path_factory.mktemp("rust")
    (root / "src").mkdir()
    for name, text in (("server", SERVER), ("errors", ERRORS), ("check", CHECK), ("types", TYPES), ("paths", PATHS)):
        (root / "src" / f"{name}.rs").write_text(text)
    return open_index(open_tree(root), keep=False)


def ask(index: Index, body: Any, status: int, said: Any, path: str = "/v1/chat/completions") -> Diagnosis:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    answer = said.encode() if isinstance(said, str) else json.dumps(said).encode()
    headers = (("content-type", "application/json"),)
    request = Request(method="POST", url=f"http://127.0.0.1:3000{path}", headers=headers, body=data)
    return diagnose(Exchange(request=request, response=Response(status=status, body=answer)), [index])


def places(diagnosis: Diagnosis) -> list[tuple[str, int]]:
    return [(site.file, site.line) for site in diagnosis.sites]


def fields(diagnosis: Diagnosis) -> list[str]:
    return [blamed.pointer for blamed in diagnosis.fields]


def line_of(text: str, piece: str) -> int:
    return next(number for number, line in enumerate(text.splitlines(), 1) if piece in line)


PREFIX = "Failed to deserialize the JSON body into the target type: "


@pytest.mark.parametrize(
    ("body", "said", "kind", "field", "piece"),
    [
        ({"messages": HI, "maxTokens": -1}, "maxTokens: invalid value: integer `-1`, expected u32 at line 1 column 9",
         "out_of_range", "/maxTokens", "pub max_tokens"),
        ({"messages": HI, "best_of": "2"}, 'best_of: invalid type: string "2", expected usize at line 1 column 7',
         "wrong_type", "/best_of", "pub best_of"),
        ({"messages": [{"role": "user"}]}, "messages[0]: missing field `content` at line 1 column 32",
         "missing_field", "/messages/0/content", "pub content"),
        ({"messages": HI, "effort": "highest"}, "effort: unknown variant `highest`, expected `low` or `high`",
         "bad_value", "/effort", "pub effort"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": "u"}]}]},
         "messages[0].content: data did not match any variant of untagged enum Content at line 1 column 90",
         "wrong_type", "/messages/0/content/0/image_url", "ImageUrl {"),
    ],
)  # fmt: skip
def test_serde_leads_to_the_declaration(index: Index, body: Any, said: str, kind: str, field: str, piece: str) -> None:
    found = ask(index, body, 422, PREFIX + said)
    assert (found.kind, fields(found)[:1], places(found)[0]) == (kind, [field], ("src/types.rs", line_of(TYPES, piece)))


@pytest.mark.parametrize(
    ("body", "said", "field"),
    [
        (b'{"messages": [\n {"role": "user"}]}', "missing field `content` at line 2 column 17", "/messages/0/content"),
        (b'{"messages": [],\n "best_of": "2"}', 'invalid type: string "2", expected usize at line 2 column 15', "/best_of"),
        (b"{}", "missing field `messages` at line 1 column 2", "/messages"),
    ],
)  # fmt: skip
def test_without_a_path_line_and_column_lead_there(index: Index, body: bytes, said: str, field: str) -> None:
    found = ask(index, body, 400, {"error": f"Json deserialize error: {said}"})
    assert fields(found) == [field]
    assert places(found)[0][0] == "src/types.rs"


def test_a_declared_error_leads_to_where_it_is_made(index: Index) -> None:
    found = ask(
        index, {"messages": HI, "best_of": 9}, 422, {"error": "input is not valid: `best_of` must be at most 2, not 9"}
    )
    assert places(found)[0] == ("src/check.rs", line_of(CHECK, "AskError::BestOf"))
    assert (found.kind, fields(found)) == ("out_of_range", ["/best_of"])


def test_an_error_without_values(index: Index) -> None:
    found = ask(index, {"messages": []}, 422, {"error": "input is not valid: there must be a message"})
    assert places(found)[0] == ("src/check.rs", line_of(CHECK, "AskError::Empty"))


def test_a_text_in_the_handler(index: Index) -> None:
    found = ask(index, {"messages": HI, "suffix": "x"}, 400, {"error": "Suffixes are not taken here."})
    assert places(found)[0] == ("src/server.rs", line_of(SERVER, "Suffixes"))


def test_a_status_alone_leads_to_the_middleware(index: Index) -> None:
    found = ask(index, {"messages": HI}, 401, "")
    assert found.kind == "auth"
    assert places(found)[0] == ("src/server.rs", line_of(SERVER, "UNAUTHORIZED"))


def test_the_branch_for_the_values_sent_is_the_one(index: Index) -> None:
    said = "nothing to be done here"
    of_text = ask(index, {"source": {"kind": "text", "text": ""}}, 400, said, "/tokens/count")
    of_words = ask(index, {"source": {"kind": "words", "words": []}}, 400, said, "/tokens/count")
    lines = [number for number, line in enumerate(SERVER.splitlines(), 1) if "Err((StatusCode::BAD_REQUEST" in line]
    assert [places(of_text)[0], places(of_words)[0]] == [("src/server.rs", lines[0]), ("src/server.rs", lines[2])]


def test_the_condition_before_a_refusal_names_the_field(index: Index) -> None:
    body = {"source": {"kind": "words", "words": ["a"]}, "most": 9}
    found = ask(index, body, 400, "that is nine, more than can be done", "/tokens/count")
    assert fields(found) == ["/most"]


def test_ignored_keys(index: Index) -> None:
    found = ask(index, {"messages": HI, "top_k": 3, "maxTokens": 2}, 200, {"choices": []})
    assert (found.kind, list(found.ignored)) == ("ignored_field", ["/top_k"])


def test_an_unknown_path(index: Index) -> None:
    found = ask(index, {"messages": HI}, 404, "", "/v1/completions")
    assert found.kind == "no_route"


@pytest.mark.parametrize(
    ("text", "loc", "kind"),
    [
        ("a.b[2]: missing field `c` at line 1 column 5", ("a", "b", 2, "c"), "missing"),
        ("unknown field `x`, expected `a` or `b`", ("x",), "extra_forbidden"),
        ("t: invalid type: null, expected a string", ("t",), "string_type"),
        ("t: invalid type: map, expected a sequence at line 1 column 2", ("t",), "list_type"),
        ("t: invalid type: floating point `1.5`, expected u32", ("t",), "int_from_float"),
        ("t: invalid value: integer `300`, expected u8", ("t",), "less_than_equal"),
        ("t: invalid length 3, expected fewer elements in array", ("t",), "too_long"),
        ("t: duplicate field `n` at line 1 column 9", ("t", "n"), "duplicate_key"),
        ("Failed to parse the request body as JSON: a: expected `,` or `}` at line 1 column 8", (), "json_invalid"),
        ("EOF while parsing a value at line 1 column 0", (), "json_invalid"),
    ],
)
def test_what_serde_says(text: str, loc: tuple[str | int, ...], kind: str) -> None:
    assert [(entry.loc, entry.type) for entry in serde_entries(text)] == [(loc, kind)]


@pytest.mark.parametrize(
    "text", ["missing field content", "the field `x` is missing", "expected value", "invalid type"]
)
def test_what_serde_does_not_say(text: str) -> None:
    assert serde_entries(text) == []


@pytest.mark.parametrize(
    ("text", "loc", "kind"),
    [
        ('top_p: Validation error: range [{"min": Number(0.0), "value": Number(-1), "max": Number(1.0)}]', ("top_p",),
         "greater_than_equal"),
        ('a[0].n: Validation error: range [{"max": Number(10), "value": Number(12)}]', ("a", 0, "n"), "less_than_equal"),
        ('stop: Validation error: length [{"min": Number(1), "value": Array []}]', ("stop",), "too_short"),
        ('stop: Validation error: at most four [{"value": Array []}]', ("stop",), ""),
        ("__all__: Validation error: one of both [{}]", (), ""),
    ],
)  # fmt: skip
def test_what_the_validator_says(text: str, loc: tuple[str | int, ...], kind: str) -> None:
    assert [(entry.loc, entry.type) for entry in rule_entries(text)] == [(loc, kind)]


def test_a_rule_leads_to_its_field_or_to_its_check(index: Index) -> None:
    body = {"texts": ["a", "b"], "most": 11}
    told = ask(index, body, 400, 'most: Validation error: range [{"max": Number(10), "value": Number(11)}]', "/rank")
    assert (told.kind, fields(told), places(told)[0]) == (
        "out_of_range", ["/most"], ("src/types.rs", line_of(TYPES, "range(max = 10)") + 1)
    )  # fmt: skip
    told = ask(index, body, 400, "__all__: Validation error: fewer texts than most [{}]", "/rank")
    assert places(told)[0] == ("src/types.rs", line_of(TYPES, "fewer texts"))


@given(st.text(alphabet="missing field`:, expected invalid type[]0.at line column", max_size=300))
def test_any_text_is_read(text: str) -> None:
    assert len(serde_entries(text)) <= 1
    assert read_answer(Response(status=422, body=text.encode())).status == 422
