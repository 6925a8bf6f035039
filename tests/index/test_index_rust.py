"""What is read of Rust source."""

from __future__ import annotations

import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmdebug.index.facts import BODY, QUERY, Class, FileFacts
from llmdebug.index.rust import routes as rust_routes
from llmdebug.index.rust.extract import extract


def facts(source: str) -> FileFacts:
    return extract("src/server.rs", textwrap.dedent(source).encode())


def named(known: FileFacts, name: str) -> Class:
    return next(each for each in known.classes if each.name == name)


def routes(source: str) -> set[tuple[str, str, str]]:
    return {(method, r.path, r.handler) for r in facts(source).routes for method in r.methods}


def test_axum_routes() -> None:
    found = routes(
        """
        fn app() -> Router {
            Router::new()
                .route("/v1/chat", post(handlers::chat).get(list))
                .route("/models/:id", delete(remove::<B>))
                .route("/files/{*rest}", get(files))
                .nest("/api", Router::new().route("/info", get(info)))
        }
        """
    )
    assert found == {
        ("POST", "/v1/chat", "handlers.chat"),
        ("GET", "/v1/chat", "list"),
        ("DELETE", "/models/{id}", "remove"),
        ("GET", "/files/{rest:path}", "files"),
        ("GET", "/api/info", "info"),
    }


def test_a_chain_of_many_routes_is_walked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is around a call is asked of the grammar by a walk from the root, and may be asked but a few times a call."""
    count = 400
    asked: list[str] = []
    plain = rust_routes.receiver_of
    monkeypatch.setattr(rust_routes, "receiver_of", lambda call: asked.append("") or plain(call))  # type: ignore[func-returns-value]
    chain = "".join(f'.route("/x{i}", post(h))' for i in range(count))
    known = facts(f'fn app() -> Router {{ Router::new().nest("/v1", Router::new(){chain}){chain} }}')
    assert [r.path for r in known.routes] == [
        path for top in ("", "/v1") for path in (f"{top}/x{i}" for i in reversed(range(count)))
    ]
    assert len(asked) < 20 * count


def test_a_resource_in_nested_scopes_of_actix() -> None:
    assert routes(
        """
        fn app(cfg: &mut ServiceConfig) {
            cfg.service(web::scope("/v1/").service(web::scope("/chat").service(
                web::resource("/now").route(web::get().to(read)).route(web::post().to(write)))));
        }
        """
    ) == {("GET", "/v1/chat/now", "read"), ("POST", "/v1/chat/now", "write")}


def test_a_router_of_another_function_is_mounted() -> None:
    known = facts(
        """
        fn inner() -> Router { Router::new().route("/chat", post(chat)) }
        fn outer() -> Router { let side = Router::new().route("/side", get(side_of));
            Router::new().nest("/v1", inner()).merge(side) }
        """
    )
    assert {(r.path, r.router) for r in known.routes} == {("/chat", "inner"), ("/side", "outer.side")}
    assert {(m.child, m.prefix) for m in known.mounts} == {("inner", "/v1"), ("outer.side", "")}


def test_actix_routes() -> None:
    source = """
        #[post("/v1/generate/{id}")]
        async fn generate(req: web::Json<Ask>) -> impl Responder { todo!() }
        fn config(cfg: &mut web::ServiceConfig) {
            cfg.service(web::scope("/api").service(generate)
                .service(web::resource("/embed").route(web::post().to(embed))))
               .route("/health", web::get().to(health));
        }
        """
    assert routes(source) == {
        ("POST", "/v1/generate/{id}", "generate"),
        ("POST", "/api/embed", "embed"),
        ("GET", "/health", "health"),
    }
    assert ("generate", "/api") in {(m.child, m.prefix) for m in facts(source).mounts}


def test_what_a_handler_takes() -> None:
    known = facts(
        """
        async fn chat(State(s): State<App>, Query(q): Query<Opts>, Json(mut req): Json<types::Chat>) -> Response { x() }
        async fn raw(body: Bytes) -> Response { let req: Ask = serde_json::from_slice(&body)?; x() }
        """
    )
    taken = {f.name: [(p.name, p.annotation, p.default) for p in f.parameters] for f in known.functions}
    assert taken["chat"] == [("q", "Opts", QUERY), ("req", "types.Chat", BODY)]
    assert ("body", "Ask", BODY) in taken["raw"]


def test_fields_as_serde_reads_them() -> None:
    known = facts(
        """
        #[derive(Debug, Deserialize)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        pub struct Ask {
            /// The prompt.
            pub user_prompt: String,
            #[serde(alias = "max_new", default = "ten")]
            pub max_tokens: u32,
            pub stop: Option<Vec<String>>,
            #[serde(rename(deserialize = "T", serialize = "t"))]
            pub temperature: f32,
            #[serde(skip_deserializing)]
            pub made: Instant,
            pub r#type: Box<HashMap<String, i64>>,
            #[serde(deserialize_with = "read")]
            pub by_code: Option<u8>,
        }
        """
    )
    ask = named(known, "Ask")
    assert ask.extra == "forbid"
    assert [(f.name, f.annotation, f.default, f.aliases) for f in ask.fields] == [
        ("user_prompt", "str", None, ("userPrompt",)),
        ("max_tokens", "NonNegativeInt", "None", ("maxTokens", "max_new")),
        ("stop", "Optional[list[str]]", "None", ()),
        ("temperature", "float", None, ("T",)),
        ("type", "dict[str, int]", None, ()),
        ("by_code", "Any", None, ("byCode",)),
    ]
    assert ask.fields[0].line == 6


def test_enums() -> None:
    known = facts(
        """
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Prompt { One(String), Many(Vec<String>), Full { text: String } }
        #[derive(Deserialize)]
        #[serde(rename_all = "snake_case")]
        enum Effort { Low, VeryHigh, #[serde(rename = "x", alias = "y")] Other }
        #[derive(Deserialize)]
        #[serde(tag = "type", rename_all = "snake_case")]
        enum Part { Text { text: String }, ImageUrl(Image) }
        #[derive(Deserialize)]
        #[serde(tag = "type", content = "value")]
        enum Format { #[serde(rename = "json")] Json(Value) }
        #[derive(Deserialize)]
        #[serde(try_from = "Prompt")]
        struct Wrapped(Vec<String>);
        """
    )
    constants = dict(known.constants)
    assert constants["Prompt"] == "Union[str, list[str], Prompt.Full]"
    assert constants["Wrapped"] == "Prompt"
    assert [name for name, _ in named(known, "Effort").members] == ["low", "very_high", "x", "y"]
    assert constants["Part"] == "Annotated[Union[Part.Text, Part.ImageUrl], Discriminator('type')]"
    assert [(f.name, f.annotation) for f in named(known, "Part.Text").fields] == [
        ("type", "Literal['text']"),
        ("text", "str"),
    ]
    assert named(known, "Part.ImageUrl").bases == ("Image", "Struct")
    assert [(f.name, f.annotation) for f in named(known, "Format.Json").fields] == [
        ("type", "Literal['json']"),
        ("value", "Any"),
    ]


def test_flattened_enums_lay_their_fields_in() -> None:
    known = facts(
        """
        #[derive(Deserialize)]
        struct Message { role: String, #[serde(flatten)] body: Body, #[serde(flatten)] rest: HashMap<String, Value> }
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Body { Text { content: String }, Calls { tool_calls: Vec<Call> } }
        """
    )
    message = named(known, "Message")
    assert {f.name: f.default for f in message.fields} == {"role": None, "content": "None", "tool_calls": "None"}
    assert message.extra == "allow"


def refusals(source: str) -> list[tuple[int, str, int | None, list[str]]]:
    return [
        (r.line, r.raised, r.status, ["".join(part or "{}" for part in t.parts) for t in r.templates])
        for r in facts(source).rejections
    ]


@pytest.mark.parametrize(
    ("code", "raised", "status", "text"),
    [
        ('return Err(Bad::Limit("too many tokens".to_string()));', "Bad.Limit", None, "too many tokens"),
        ('x.ok_or_else(|| anyhow!("no such {name} here"))?;', "", None, "no such {} here"),
        ('if n > 3 { bail!("n is {}, not {}", n, self.max); }', "", None, "n is {}, not {}"),
        ('ensure!(n < 3, "n is too large: {n}");', "", None, "n is too large: {}"),
        (
            'return Err((StatusCode::BAD_REQUEST, Json(Reply { error: format!("bad number {}", n), kind: "k".into() })));',
            "",
            400,
            "bad number {}",
        ),
        ('let m = format!("no model {n}"); return Err(Bad::Model(m));', "Bad.Model", None, "no model {}"),
        ('return HttpResponse::BadRequest().body("wrong input");', "", 400, "wrong input"),
        (
            'return (StatusCode::NOT_FOUND, Json(json!({"error": "no such thing"}))).into_response();',
            "",
            404,
            "no such thing",
        ),
        ('return ApiError::bad_request("not like this");', "", None, "not like this"),
    ],
)
def test_refusals(code: str, raised: str, status: int | None, text: str) -> None:
    found = refusals(f"impl S {{ fn f(&self) -> R {{\n{code}\n}} }}")
    assert [(line, told) for line, _, _, told in found] == [(2, [text])]
    assert found[0][2] == status
    assert found[0][1] == raised


def test_texts_that_are_declared_with_an_error() -> None:
    source = """
        #[derive(Error)]
        enum Bad {
            #[error("`n` must be below {0}")]
            Limit(usize),
            #[error("not valid: {0}")]
            Inner(#[from] Other),
        }
        impl fmt::Display for Ugly { fn fmt(&self, f: &mut F) -> R { match self { Ugly::A(x) => write!(f, "an A of {x}") } } }
        fn check() -> Result<(), Bad> { if a { return Err(Bad::Limit(3)); }
            Err(StatusCode::UNAUTHORIZED) }
        """
    found = {(r.symbol, r.role, r.raised, r.status) for r in facts(source).rejections}
    assert found == {
        ("Bad.Limit", "internal", "Bad.Limit", None),
        ("Bad.Inner", "returns", "Bad.Inner", None),
        ("Ugly.A", "internal", "Ugly.A", None),
        ("check", "raises", "Bad.Limit", None),
        ("check", "raises", "", 401),
    }


def test_rules_of_the_validator() -> None:
    known = facts(
        """
        #[derive(Deserialize, Validate)]
        #[validate(schema(function = "check_all"))]
        struct Ask {
            #[validate(range(min = -2.0, max = 2.0))]
            penalty: Option<f32>,
            #[validate(custom(function = "rules::check_stop"), length(min = 1, message = "stop must hold something"))]
            stop: Vec<String>,
        }
        fn check_all(ask: &Ask) -> Result<(), E> {
            let mut e = ValidationError::new("the_code");
            e.message = Some("these do not go together".into());
            Err(e)
        }
        """
    )
    penalty, stop = named(known, "Ask").fields
    assert penalty.constraints == (("ge", "-2.0"), ("le", "2.0"))
    assert stop.constraints == (("min_length", "1"),)
    assert [f.calls for f in known.functions if f.name == "Ask.validate"] == [("check_all", "rules.check_stop")]
    texts = {"".join(p or "" for p in t.parts): r.line for r in known.rejections for t in r.templates}
    assert texts["stop must hold something"] == 7
    assert texts["these do not go together"] == 12


def test_what_is_no_refusal() -> None:
    source = """
        fn f(kind: &str) -> Result<(), E> {
            info!("this is only logged");
            let x = "just some text here";
            if kind == "some other text" { run("with a long name")?; }
            match kind { "an odd name" => Ok(()), _ => Ok(done("all is well")) }
        }
        #[cfg(test)]
        mod tests { fn t() { panic!("only in a test"); } }
        """
    assert refusals(source) == []


def test_statuses_of_errors() -> None:
    known = facts(
        """
        impl IntoResponse for Bad { fn into_response(self) -> Response {
            match self { Bad::A(_) | Self::B => StatusCode::CONFLICT.into_response(), Bad::C => StatusCode::OK } } }
        """
    )
    assert {h.exceptions[0]: h.statuses for h in known.handlers} == {"Bad.A": (409,), "Bad.B": (409,)}


def test_calls() -> None:
    known = facts(
        """
        impl S { async fn f(&self, a: A) {
            self.g(); self.inner.h(); a.run(); Self::make(); crate::m::free(); x.map_err(Bad::from); vec![late(1)];
        } }
        """
    )
    assert set(known.functions[0].calls) >= {
        "self.g",
        ".h",
        "~a.run",
        "self.make",
        "m.free",
        "Bad.from",
        "late",
    }


PIECES = st.sampled_from(
    ["fn f() {", "}", "{", "(", ")", "#[serde(", "rename = ", '"x"', "struct S", "enum E", "A(", ",", "Err(", "json!", "[", "]",
     "match x", "=>", "|", ".route(", "use a::{b, c::*};", "impl D for", "r#\"", "'a", "format!(\"{", "}\")", "\\u{", "é", "\0"]
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(st.one_of(st.binary(max_size=400), st.lists(PIECES, max_size=40).map(lambda p: " ".join(p).encode())))
def test_nothing_raises(data: bytes) -> None:
    assert extract("src/a.rs", data).path == "src/a.rs"


def test_deep_nesting_ends() -> None:
    assert extract("a.rs", b"fn f() { " + b"g(" * 3000 + b"Err(" * 3000).problem == ""
    assert extract("a.rs", b"use " + b"a::{" * 3000).problem == ""
    assert extract("a.rs", b"mod m { " * 3000).problem == ""
    assert extract("a.rs", b"struct S { a: " + b"Vec<" * 3000 + b"u8").problem == ""
    assert extract("a.rs", b"#[derive(Deserialize)] enum S { A " * 500).problem == ""
    assert extract("a.rs", b"#[serde(" + b"a(" * 3000 + b")]struct S{}").problem == ""


def test_large_files_are_left() -> None:
    assert extract("a.rs", b"//" + b"x" * 4_000_001).problem == "too large"
