"""The node types, one module each. `base.py` says what a node type is; nothing lists them by hand."""
