"""The one place that knows every part, and wires them together."""
