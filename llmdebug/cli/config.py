"""`llmdebug config`."""

from __future__ import annotations

from llmdebug.config.settings import Settings


def command() -> int:
    """Show where the config file lies, and each setting with where its value comes from."""
    from llmdebug.cli.exit_codes import ExitCode
    from llmdebug.config.load import load_settings

    settings = load_settings()
    print(_place(settings))
    for name, value in settings.values.items():
        print(f"{name} = {_toml(value.value)}  # {value.origin}")
    for name, keys in settings.keys.items():
        print(f"keys.{name} = {_toml(list(keys))}  # {settings.keys_origin[name]}")
    return ExitCode.OK


def _place(settings: Settings) -> str:
    if settings.path is None:
        return "# there is no home folder to keep a config file in; LLMDEBUG_CONFIG names one"
    return f"# {settings.path}" + ("" if settings.exists else " (there is no such file yet)")


def _toml(value: object) -> str:
    """Strings and lists of strings are written in TOML as in JSON."""
    import json

    return json.dumps(value, ensure_ascii=False)
