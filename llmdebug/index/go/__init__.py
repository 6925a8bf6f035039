"""Source in Go."""
