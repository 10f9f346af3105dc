"""Runs machines against servers: queue, workers, manager, leadership."""

__all__: list[str] = []
