"""Source in Rust, read into facts."""
