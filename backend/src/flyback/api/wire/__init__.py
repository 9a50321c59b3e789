"""The shapes of the API, one module a noun. What they mean is in the fields; how they are made is in the routes."""
