"""Validation of CustomResourceDefinitions, with the messages and in the order of the real server.

The real server converts a definition to an internal form before it validates it (``internal``). In
that form, settings that are the same in all versions are moved out of the versions, and error paths
are those of the internal form: with a single version, the path of its schema is
``spec.validation``.
"""

from myrmidon.apiserver.schema.definitions.definition import check_definition
from myrmidon.apiserver.schema.definitions.unrecognized import unrecognized_formats

__all__ = ["check_definition", "unrecognized_formats"]
