"""Custom resources: the resource types of a CustomResourceDefinition.

resource_types     builds the resource types from a definition
strategy           decoding, defaulting, pruning and validation of custom objects
printer_columns    the columns of ``kubectl get``
jsonpath           the paths of those columns
"""

__all__: list[str] = []
