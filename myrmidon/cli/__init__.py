"""The program: ``python -m myrmidon``."""

__all__: list[str] = []
