"""What the tests build with."""
