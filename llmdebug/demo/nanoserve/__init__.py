"""nanoserve: a small OpenAI-compatible inference server for a word-piece trigram model."""
