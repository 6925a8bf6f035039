"""From a chat request's body to what a template gets, and to the text it makes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from vocabularies import CHATML

from llmdebug.tokens.chat import ChatError, chat_of, flattened, media_of
from llmdebug.tokens.place import Place
from llmdebug.tokens.template import place_of, reads_parts, render, template_of
from llmdebug.tokens.tokenizer import Tokenizer
from llmdebug.tokens.values import Chat, TemplateFault, TokenizerError

USER = {"role": "user", "content": "Hello"}
SYSTEM = {"role": "system", "content": "Be brief."}
SECONDS = 20.0
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@pytest.fixture(scope="session")
def loaded(tokenizers: Mapping[str, Tokenizer]) -> Any:
    return tokenizers["byte_level"].loaded


def fault(loaded: Any, template: str, *messages: dict[str, Any], **given: Any) -> TemplateFault:
    found = render(loaded, Chat(messages=list(messages), **given), template, seconds=SECONDS)
    assert isinstance(found, TemplateFault)
    return found


def test_arguments_of_calls_are_read() -> None:
    call = {"id": "1", "function": {"name": "f", "arguments": '{"a": 1}'}}
    chat = chat_of({"messages": [{"role": "assistant", "content": None, "tool_calls": [call]}]})
    assert chat.messages[0]["tool_calls"][0]["function"]["arguments"] == {"a": 1}
    assert chat.messages[0]["content"] == ""


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "/messages"),
        ({"messages": []}, "/messages"),
        ({"messages": [USER, "x"]}, "/messages/1"),
        ({"messages": [USER], "tools": [1]}, "/tools"),
        (
            {"messages": [{"role": "assistant", "tool_calls": [{}, {"function": {"arguments": "{"}}]}]},
            "/messages/0/tool_calls/1/function/arguments",
        ),
    ],
)
def test_what_is_no_conversation_is_told_with_its_pointer(body: dict[str, Any], pointer: str) -> None:
    with pytest.raises(ChatError) as caught:
        chat_of(body)
    assert caught.value.pointer == pointer


@given(st.dictionaries(st.sampled_from(["messages", "tools", "documents", "chat_template_kwargs"]), json_values))
def test_any_body_is_a_chat_or_an_error(body: dict[str, Any]) -> None:
    try:
        assert chat_of(body).messages
    except ChatError as error:
        assert error.pointer.startswith("/")


def test_parts_become_one_text_and_media_are_named() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {}}, {"type": "text", "text": "b"}]
    message = {"role": "user", "content": parts}
    assert flattened(message)["content"] == "a\nb"
    assert media_of({"messages": [USER, message]}) == ["/messages/1/content/1"]


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        (CHATML, False),
        ("{% for m in messages %}{% for p in m['content'] %}{{ p }}{% endfor %}{% endfor %}", True),
        ("{% for m in messages %}{% for p in m.content %}{{ p }}{% endfor %}{% endfor %}", True),
        ("{% set content = messages[0].content %}{% for p in content %}{% break %}{% endfor %}", True),
        ("{% for", False),
    ],
)
def test_templates_that_read_parts_are_known(template: str, expected: bool) -> None:
    assert reads_parts(template) is expected


def test_the_text_is_that_of_transformers(loaded: Any) -> None:
    messages = [SYSTEM, USER, {"role": "assistant", "content": "Once"}]
    for options in ({"add_generation_prompt": True}, {"add_generation_prompt": False, "continue_final_message": True}):
        expected = loaded.apply_chat_template(messages, tokenize=False, **options)
        chat = Chat(messages=messages, **options)  # type: ignore[arg-type]
        assert render(loaded, chat, template_of(loaded, chat), seconds=SECONDS) == expected


def test_variables_and_tools_reach_the_template(loaded: Any) -> None:
    template = "{{ messages[0].content }} {{ enable_thinking }} {{ tools | tojson }}"
    tools = [{"type": "function", "function": {"name": "f<"}}]
    chat = Chat(messages=[USER], tools=tools, variables={"enable_thinking": False, "messages": "not these"})
    assert render(loaded, chat, template, seconds=SECONDS) == "Hello False " + json.dumps(tools)


def test_the_guilty_message_and_the_line_are_found(loaded: Any) -> None:
    found = fault(loaded, CHATML, USER, SYSTEM, USER)
    assert (found.message, found.line, found.index) == ("System message must come first", 3, 1)
    assert "raise_exception" in found.source


def test_the_guilty_message_is_found_through_macros_and_slices(loaded: Any) -> None:
    macro = "{% macro say(m) %}\n{{ raise_exception('no ' + m.role) if m.role == 'system' }}{% endmacro %}"
    rest = "{% set rest = messages[1:] %}{% for m in rest %}{{ say(m) }}{% endfor %}"
    assert fault(loaded, macro + rest, USER, USER, SYSTEM).index == 2


def test_a_check_of_the_last_message_names_it(loaded: Any) -> None:
    template = "{% if messages[-1].role != 'user' %}\n{{ raise_exception('end with user') }}\n{% endif %}"
    assert fault(loaded, template, USER, SYSTEM).index == 1


def test_a_missing_key_and_a_broken_template_give_their_line(loaded: Any) -> None:
    assert fault(loaded, "\n\n{{ messages[0].absent.name }}", USER, USER).line == 3
    broken = fault(loaded, "{% for m in messages %}\n{% if %}", USER)
    assert (broken.line, broken.index) == (2, None)
    assert broken.told.startswith("the chat template cannot be read: Expected an expression")


def test_the_sandbox_holds(loaded: Any) -> None:
    assert "unsafe" in fault(loaded, "{{ messages.__class__.__mro__ }}", USER).message


@pytest.mark.parametrize(
    ("template", "told"),
    [
        (
            "{% set ns = namespace(s='ab') %}{% for n in range(60) %}\n{% set ns.s = ns.s + ns.s %}{% endfor %}",
            "the chat template wants more than 512 MiB of memory: it was stopped",
        ),
        (
            "{{ 1 }}\n{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
            "the chat template does not end: it was stopped after 0.2 s",
        ),
        (
            "{% macro again(n) %}\n{{ again(n) }}{% endmacro %}{{ again(1) }}",
            "the chat template calls itself without end: it was stopped",
        ),
    ],
)
def test_a_template_without_end_is_stopped_at_its_line(loaded: Any, template: str, told: str) -> None:
    found = render(loaded, Chat(messages=[USER, USER]), template, seconds=0.2 if "0.2" in told else SECONDS)
    assert isinstance(found, TemplateFault)
    assert (found.told, found.line, found.index) == (told, 2, None)


def test_a_template_that_is_nested_too_deep_is_not_said_to_run(loaded: Any) -> None:
    for template in ("{% if 1 %}" * 3_000, "{{ " + "(" * 5_000, "{{ " + "+".join("1" * 20_000) + " }}"):
        assert fault(loaded, template, USER).told == "the chat template is nested too deep to be read"


def test_a_template_reads_no_files(loaded: Any) -> None:
    for template in ("{% include '/etc/passwd' %}", "{% import '/etc/passwd' as x %}", "{% extends '/etc/passwd' %}"):
        assert "no loader" in fault(loaded, template, USER).message


def test_where_a_template_stands_is_told(tmp_path: Path) -> None:
    """A file of its own, one of several, or an entry of the configuration."""
    one, several = SimpleNamespace(chat_template="one"), SimpleNamespace(chat_template={"default": "one", "rag": "two"})
    place, config = Place(tmp_path), tmp_path / "tokenizer_config.json"
    assert place_of("one", one, place) == f"chat_template in {config}"
    assert place_of("two", several, place) == f'chat_template "rag" in {config}'
    (tmp_path / "chat_template.jinja").touch()
    (tmp_path / "additional_chat_templates").mkdir()
    (tmp_path / "additional_chat_templates" / "rag.jinja").touch()
    assert place_of("one", one, place) == str(tmp_path / "chat_template.jinja")
    assert place_of("two", several, place) == str(tmp_path / "additional_chat_templates" / "rag.jinja")
    assert place_of("one", one, Place(hub_id="a/b")) == "that of a/b"


def test_no_template_is_a_sentence(loaded: Any) -> None:
    template, loaded.chat_template = loaded.chat_template, None
    try:
        with pytest.raises(TokenizerError, match="no chat template"):
            template_of(loaded, Chat(messages=[USER]))
    finally:
        loaded.chat_template = template
