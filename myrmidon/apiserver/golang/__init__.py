"""What Go does differently from Python, as far as a client of the API server can see it."""

__all__: list[str] = []
