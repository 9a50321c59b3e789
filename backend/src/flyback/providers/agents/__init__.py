"""What agents run on."""
