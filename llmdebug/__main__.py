"""`python -m llmdebug` is the `llmdebug` command."""

from llmdebug.cli.main import main

main()
