"""HTTP as values, and the one client that makes them."""
