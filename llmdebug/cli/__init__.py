"""The commands. They read options and files, drive the debugger, and print: stdout is data, stderr is talk."""
