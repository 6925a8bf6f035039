"""Source in C++."""
