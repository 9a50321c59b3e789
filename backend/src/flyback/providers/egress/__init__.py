"""Calls to the outside: every address that is not the operator's own choice is called through here, and checked."""
