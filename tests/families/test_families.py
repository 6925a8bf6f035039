"""Families' files: the shipped ones are sound, and a bad one is told with file and key."""

from __future__ import annotations

from pathlib import Path

import pytest

from llmdebug.families.load import FamilyError, load_families, read_family
from llmdebug.families.reading import refusal_of
from llmdebug.http.exchange import Response

GOOD = 'name = "x"\ntitle = "X"\n[[recognise]]\nget = "/a"\nbody = "a"\n'


def test_the_shipped_families_are_sound() -> None:
    found = load_families()
    assert found.problems == () and {"sglang", "vllm", "ollama", "fastapi"} <= found.by_name.keys()


def test_one_of_the_user_s_replaces_a_shipped_one(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(GOOD.replace('"x"', '"vllm"'))
    assert load_families(tmp_path).by_name["vllm"].title == "X"
    assert load_families(tmp_path / "absent").problems == ()
    (tmp_path / "file").touch()
    assert "cannot be read" in load_families(tmp_path / "file").problems[0]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (GOOD + 'colour = "red"', "unknown field `colour` - at `$.recognise[0]`"),
        (GOOD.replace('get = "/a"', ""), "recognise[0].get: a sign is recognised by the answer to a path"),
        (GOOD.replace('body = "a"', ""), "recognise[0].json: a sign needs a header, a JSON value or a body"),
        (GOOD.replace('body = "a"', 'headers = { Server = "[" }'), "recognise[0].headers.Server: '[' is no regular expression"),
        (GOOD.replace('body = "a"', 'json = { "a" = "" }'), "recognise[0].json: 'a' is no JSON Pointer"),
        (GOOD + "certainty = 2", "recognise[0].certainty"),
        (GOOD + '[[limits]]\nget = "x"', "limits[0].get: 'x' is no path"),
        (GOOD + '[[version]]\nget = "/x"\npattern = "(?P<"', "version[0].pattern"),
        (GOOD + '[source]\ntag = "{sha}"', "source.tag"),
        (GOOD.replace('"x"', '"../x"'), "name: '../x' is no name"),
        ("name = ", "it is no TOML"),
        ("\udcff", "it is no TOML"),
        ("#" * 300_000, "larger than 200,000 bytes"),
        ('name = "x"', "missing required field `title`"),
        ("a = " + "[" * 5000, "it is no TOML"),
    ],
)  # fmt: skip
def test_a_bad_file_is_told_with_its_key(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "x.toml"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(FamilyError) as refused:
        read_family(path)
    assert str(refused.value).startswith(f"{path}: ") and told in str(refused.value)
    assert load_families(tmp_path).problems == (str(refused.value),)


@pytest.mark.parametrize(
    ("body", "headers", "family"),
    [
        (b'{"object": "error", "message": "m", "code": 400}', (), "sglang"),
        (b'{"error": "e", "error_type": "validation"}', (), "tgi"),
        (b'{"detail": [{"loc": [], "msg": "m"}]}', (), None),
        (b"{}", (("Server", "llama.cpp"),), "llama.cpp"),
        (b"<html>", (), None),
    ],
)
def test_a_refusal_s_shape_tells_the_family(
    body: bytes, headers: tuple[tuple[str, str], ...], family: str | None
) -> None:
    found = refusal_of(load_families().by_name.values(), Response(status=422, headers=headers, body=body))
    assert (found.name if found else None) == family
