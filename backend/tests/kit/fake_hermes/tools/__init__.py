"""As the Hermes Agent has it."""
