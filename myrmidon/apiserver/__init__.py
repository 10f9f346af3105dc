"""A Kubernetes API server in the process: in memory, started in milliseconds."""

__all__: list[str] = []
