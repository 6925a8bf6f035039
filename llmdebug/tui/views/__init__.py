"""What panes show, as rows of text with roles: no widget, no colour, no event loop."""
