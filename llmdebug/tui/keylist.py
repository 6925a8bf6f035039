"""The keys as README lists them, made from the command table."""

from __future__ import annotations

from llmdebug.tui.commands import COMMANDS, CONTEXTS
from llmdebug.tui.keymap import Keymap

BEGIN = "<!-- keys: written by `python -m llmdebug.tui.keylist README.md` -->"
END = "<!-- end of keys -->"


def key_list() -> str:
    """Markdown tables, one for each context."""
    keymap = Keymap()
    parts = []
    for context, told in CONTEXTS.items():
        commands = [command for command in COMMANDS if command.context == context]
        if not commands:
            continue
        rows = [f"| {_cell(keymap.all_shown(command))} | {command.help} | `{command.name}` |" for command in commands]
        parts.append("\n".join([f"**{told}**", "", "| keys | what they do | command |", "|---|---|---|", *rows]))
    return "\n\n".join(parts)


def _cell(keys: str) -> str:
    return ", ".join(f"`{key}`" for key in keys.split(", ")).replace("|", "\\|")


def with_key_list(readme: str) -> str:
    """A README whose marked section holds the list as it is now. Raises ValueError where it has no such section."""
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"There is no section between {BEGIN} and {END}.")
    return f"{before}{BEGIN}\n\n{key_list()}\n\n{END}{after}"


def main(path: str) -> None:
    """Writes the list into a README."""
    with open(path, encoding="utf-8") as file:
        readme = file.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write(with_key_list(readme))


if __name__ == "__main__":
    import sys

    main(sys.argv[1])
