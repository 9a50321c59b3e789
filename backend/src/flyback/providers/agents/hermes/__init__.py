"""The Hermes Agent as a runtime: a child process of a Hermes that the operator installed."""
