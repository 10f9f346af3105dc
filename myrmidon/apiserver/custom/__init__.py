"""Custom resources: what a CustomResourceDefinition makes of their objects.

resource_types     from a definition to the resource types that it serves
strategy           decoding, defaulting, pruning, validation of custom objects
printer_columns    the columns of ``kubectl get``
jsonpath           the paths of those columns
"""

__all__: list[str] = []
