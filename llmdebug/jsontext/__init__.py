"""JSON as text: values with their positions, pointers, patches. Knows nothing of HTTP."""
