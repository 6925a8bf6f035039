"""What the server's tokenizer makes of a request: text to ids and back, chat templates, counts.

The tokenizer itself lives in a process of its own (`process`, `worker`): importing transformers and reading a
large vocabulary hold the interpreter for seconds, and a tokenizer's files are as untrusted as a server's answer.
What crosses the border are the values of `values`.
"""
