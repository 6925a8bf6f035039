"""Files that people have, read into requests and exchanges, and written from them."""
