"""Source trees: list their files, read them, search them. Nothing of a tree is ever executed."""
