"""What operators see of this process: numbers and traces."""
