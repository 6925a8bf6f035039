"""What was sent and answered, kept on disk: append-only, private, without secrets."""
