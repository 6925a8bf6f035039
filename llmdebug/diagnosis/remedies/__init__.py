"""Remedies: what to send instead of a refused request."""
