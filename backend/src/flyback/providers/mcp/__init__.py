"""Tools of MCP servers: asked for, pinned and called."""
