"""The widgets of the main screen: each draws rows, one strip a visible line."""
