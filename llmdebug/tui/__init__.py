"""The screen: a Textual app that draws what the debugger knows and asks what to do next. It decides nothing."""
