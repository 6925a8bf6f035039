"""The options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

Reference = Annotated[
    str,
    typer.Argument(
        metavar="FILE#NAME",
        help="An .http file (- for stdin); #NAME or #NUMBER picks one of several requests.",
        show_default=False,
    ),
]
BaseUrl = Annotated[
    str | None,
    typer.Option(
        "--base-url",
        "--url",
        metavar="URL",
        help="Where the request goes, whatever its file says; sets {{base_url}}. "
        "OPENAI_BASE_URL serves where the file names no server.",
    ),
]
Variables = Annotated[
    list[str],
    typer.Option(
        "--var",
        metavar="NAME=VALUE",
        help="A variable of the file; repeatable.",
        default_factory=list,
        show_default=False,
    ),
]
Headers = Annotated[
    list[str],
    typer.Option(
        "-H",
        "--header",
        metavar="'NAME: VALUE'",
        help="A header to add or replace; repeatable.",
        default_factory=list,
        show_default=False,
    ),
]
ApiKeyEnv = Annotated[
    str | None,
    typer.Option("--api-key-env", metavar="NAME", help="The environment variable with the key; else OPENAI_API_KEY."),
]
Sources = Annotated[
    list[str],
    typer.Option(
        "--source",
        metavar="TREE",
        help="The server's source: a folder, pypi:NAME==VERSION, git:URL@TAG, or auto for that of the running server; "
        "repeatable, a gateway's before that of the server behind it. Remembered for this server.",
        default_factory=list,
        show_default=False,
    ),
]
ServerLog = Annotated[
    str | None,
    typer.Option(
        "--log",
        metavar="FILE",
        help="The server's log: its last traceback or error settles what the answer leaves open.",
    ),
]
Answers = Annotated[
    list[str],
    typer.Option(
        "--answers",
        metavar="FILE",
        help="The output or error file of an OpenAI batch, joined to its input by custom_id; repeatable.",
        default_factory=list,
        show_default=False,
    ),
]
ConnectTimeout = Annotated[
    float | None,
    typer.Option(
        "--connect-timeout", metavar="S", min=0, help="Seconds for the connection; 0: no limit. [config, else 10]"
    ),
]
FirstByteTimeout = Annotated[
    float | None,
    typer.Option(
        "--first-byte-timeout",
        metavar="S",
        min=0,
        help="Seconds until the answer begins; 0: no limit. [config, else 600]",
    ),
]
TotalTimeout = Annotated[
    float | None,
    typer.Option(
        "--timeout", metavar="S", min=0, help="Seconds for the whole exchange; 0: no limit. [config, else 3600]"
    ),
]
Proxy = Annotated[
    str | None,
    typer.Option("--proxy", metavar="URL", help="A proxy; else the one of HTTP_PROXY, HTTPS_PROXY, ALL_PROXY."),
]
CaFile = Annotated[
    str | None,
    typer.Option("--ca-file", "--cacert", metavar="FILE", help="Certificates of the authorities to trust."),
]
ClientCert = Annotated[
    str | None, typer.Option("--client-cert", "--cert", metavar="FILE", help="A certificate to show to the server.")
]
ClientKey = Annotated[
    str | None,
    typer.Option("--client-key", "--key", metavar="FILE", help="Its key, where the certificate's file lacks it."),
]
Insecure = Annotated[bool, typer.Option("--insecure", help="Check no certificates. Said on stderr each time.")]
SendSecrets = Annotated[
    bool,
    typer.Option("--send-secrets", help="Send keys and cookies also to other hosts than those they were written for."),
]
ShowSecrets = Annotated[bool, typer.Option("--show-secrets", help="Print keys and cookies instead of {{secret:NAME}}.")]
NoRecord = Annotated[bool, typer.Option("--no-record", help="Keep nothing of this in the history.")]
NoProbe = Annotated[
    bool, typer.Option("--no-probe", help="Ask the server nothing but the request: neither its version nor its routes.")
]
TokenizerName = Annotated[
    str,
    typer.Option(
        "--tokenizer",
        metavar="X",
        help="The model's tokenizer: a folder, a tokenizer.json, or a Hugging Face id (local cache, else the hub). "
        "Where a server is asked, without it: that of the folder which the server says it serves.",
        show_default=False,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on stdout.")]
