"""The headless debugger: both front ends drive it, and it decides what happens."""
