"""Screens over the main one: help, palette, source."""
