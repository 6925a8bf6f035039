"""A server to try llmdebug on: real, tiny, and with nothing to install.

`nanoserve/` is an honest inference server and knows nothing of llmdebug; its folder is the tree that a
diagnosis reads. `server.py` starts it, `model/` holds what it serves.
"""
