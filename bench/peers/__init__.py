"""The workloads as each peer's own documentation would have them written. Every peer has an environment of its own."""
