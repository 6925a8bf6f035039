"""The config file: one strict TOML file, and where each effective value comes from."""
