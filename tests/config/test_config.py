"""A strict config file: what is set, where it comes from, and what is wrong with it."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmdebug.config.load import ConfigError, config_path, load_settings
from llmdebug.config.settings import BY_NAME, SETTINGS


def settings_of(folder: Path, text: str | bytes, **environment: str):  # type: ignore[no-untyped-def]
    file = folder / "config.toml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return load_settings(environment={"LLMDEBUG_CONFIG": str(file), **environment})


def test_flags_over_environment_over_file_over_defaults(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('theme = "light"\neditor = "nano"\ntimeout = 5\n', encoding="utf-8")
    environment = {"LLMDEBUG_CONFIG": str(file), "LLMDEBUG_EDITOR": "vim", "LLMDEBUG_MOUSE": "off"}
    settings = load_settings(environment=environment, flags={"timeout": 1.0, "theme": None})
    assert (settings.theme, settings.editor, settings.mouse, settings.total_timeout_s) == ("light", "vim", False, 1.0)
    origins = {name: value.origin for name, value in settings.values.items()}
    assert origins["theme"] == f"{file}:1"
    assert origins["editor"] == "environment, LLMDEBUG_EDITOR"
    assert origins["timeout"] == "flag --timeout"
    assert origins["record"] == "default"


def test_without_a_file_all_is_default(tmp_path: Path) -> None:
    settings = load_settings(environment={"XDG_CONFIG_HOME": str(tmp_path)})
    assert not settings.exists
    assert settings.path == tmp_path / "llmdebug" / "config.toml"
    assert settings.theme_folder == tmp_path / "llmdebug" / "themes"
    assert {name: value.value for name, value in settings.values.items()} == {s.name: s.default for s in SETTINGS}


def test_no_home_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere() -> Path:
        raise RuntimeError

    monkeypatch.setattr(Path, "home", nowhere)
    assert config_path({}) is None
    assert load_settings(environment={}).theme == "auto"


def test_keys_of_commands(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, 'theme = "dark"\n\n[keys]\nsend = "Ctrl-x"\nzoom = ["Z", "F5"]\n')
    assert settings.keys == {"send": ("Ctrl-x",), "zoom": ("Z", "F5")}
    assert settings.keys_origin["zoom"].endswith("config.toml:5")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("theme = ", "config.toml:1: "),
        ('# a comment\ntheem = "dark"\n', "config.toml:2: there is no setting 'theem'; did you mean 'theme'?"),
        ("nonsense = 1\n", "there are theme, editor"),
        ("theme = 3\n", "config.toml:1: theme is a text in quotes"),
        ('mouse = "yes"\n', "mouse is true or false"),
        ("\ntimeout = -1\n", "config.toml:2: timeout is a number of seconds, not -1"),
        ("timeout = true\n", "timeout is a number of seconds"),
        ("keys = 3\n", "[keys] is a table"),
        ("[keys]\nsend = 3\n", "config.toml:2: write the keys of 'send'"),
        ("[keys]\nsend = []\nzoom = [1]\n", "config.toml:3"),
        ("[theme]\nx = 1\n", "theme is a text in quotes"),
        (b"theme = '\xff'\n", "config.toml:1: the byte 0xFF is not UTF-8"),
    ],
)
def test_a_bad_file_is_a_sentence_with_its_line(tmp_path: Path, text: str | bytes, told: str) -> None:
    with pytest.raises(ConfigError) as error:
        settings_of(tmp_path, text)
    assert told in str(error.value)


@pytest.mark.parametrize(
    ("name", "value"), [("LLMDEBUG_MOUSE", "maybe"), ("LLMDEBUG_TIMEOUT", "soon"), ("LLMDEBUG_TIMEOUT", "-1")]
)
def test_a_bad_variable_is_named(tmp_path: Path, name: str, value: str) -> None:
    with pytest.raises(ConfigError, match=name):
        settings_of(tmp_path, "", **{name: value})


def test_a_named_file_that_is_not_there_or_is_a_folder(tmp_path: Path) -> None:
    for path in (tmp_path / "absent.toml", tmp_path):
        with pytest.raises(ConfigError, match=str(path)):
            load_settings(environment={"LLMDEBUG_CONFIG": str(path)})


@given(st.dictionaries(st.text(max_size=8), st.text(max_size=8) | st.integers() | st.booleans(), max_size=4))
def test_any_toml_is_settings_or_a_sentence(
    tmp_path_factory: pytest.TempPathFactory, values: dict[str, object]
) -> None:
    import json

    lines = [f"{json.dumps(key)} = {json.dumps(value)}" for key, value in values.items()]
    text = "\n".join(lines).replace("\\ud", "\\\\ud").replace("\x7f", "")
    try:
        tomllib.loads(text)
        settings = settings_of(tmp_path_factory.mktemp("c"), text)
    except (ConfigError, tomllib.TOMLDecodeError, UnicodeEncodeError):
        return
    assert set(values) <= set(BY_NAME)
    assert settings.exists
