"""Runs programs that nobody trusts, away from the server."""
