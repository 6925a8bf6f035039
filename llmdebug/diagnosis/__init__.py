"""An exchange, the index of a tree and what the live server says: a diagnosis."""
