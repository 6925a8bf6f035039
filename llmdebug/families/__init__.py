"""What is known of families of servers: values, read from the TOML files beside this and from the user's own."""
