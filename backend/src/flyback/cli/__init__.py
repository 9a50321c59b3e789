"""One of the two doors: the command line."""
