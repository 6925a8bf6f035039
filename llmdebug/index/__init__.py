"""A tree, read for what its server takes and how it refuses."""
