"""Types of objects: what a schema says, and what follows from it.

    types         the compiled node that everybody walks
    structural    from an openAPIV3Schema to nodes
    definitions   what is wrong with a CustomResourceDefinition
    conforming    prune, drop nulls, default: the shape of an object
    validation    what is wrong with an object
    rules         x-kubernetes-validations

Everything is a function of values.  What is compiled from a schema is kept in its nodes.
"""

from myrmidon.apiserver.schema.conforming import admit, reshape
from myrmidon.apiserver.schema.defaulting import default
from myrmidon.apiserver.schema.definitions import check_definition, unrecognized_formats
from myrmidon.apiserver.schema.embedded import EmbeddedError
from myrmidon.apiserver.schema.nulls import drop_nulls
from myrmidon.apiserver.schema.pruning import prune
from myrmidon.apiserver.schema.rules import check_rules
from myrmidon.apiserver.schema.structural import compile_schema
from myrmidon.apiserver.schema.types import ListType, Schema
from myrmidon.apiserver.schema.validation import check_object, check_status, validate

__all__ = [
    "EmbeddedError",
    "ListType",
    "Schema",
    "admit",
    "check_definition",
    "check_object",
    "check_rules",
    "check_status",
    "compile_schema",
    "default",
    "drop_nulls",
    "prune",
    "reshape",
    "unrecognized_formats",
    "validate",
]
