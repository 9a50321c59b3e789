"""The benchmark: Flyback beside LangGraph and pydantic-graph, on the same workloads, in one job."""
