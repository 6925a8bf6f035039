"""What runs behind a URL, and its source: probed, fetched by version, found on this machine, held against it."""
