"""CustomResourceDefinitions: what the server refuses, in its own words and order.

The real server converts a definition to an internal form before it looks at it.  That form moves
what all versions have in common out of them, and the paths of errors are those of it: with a single
version, its schema is ``spec.validation``.
"""

from myrmidon.apiserver.schema.definitions.definition import check_definition
from myrmidon.apiserver.schema.definitions.unrecognized import unrecognized_formats

__all__ = ["check_definition", "unrecognized_formats"]
