"""Types of objects: what a schema says, and what follows from it."""

from myrmidon.apiserver.schema.types import ListType, Schema

__all__ = ["ListType", "Schema"]
