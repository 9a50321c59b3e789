"""What the words mean: graph, run, visit, workspace, envelope, decision, events, errors. No I/O."""
