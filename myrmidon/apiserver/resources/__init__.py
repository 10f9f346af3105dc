"""What every resource type has, built-in or custom.

registry          the resource types that are served, by group, version and plural
strategy          what a resource type decides: decoding, defaults, preparation, validation
metadata          ObjectMeta: validation, owners, finalizers
representation    an object as one version shows it, and its bytes, made once
selection         which objects a list or watch is about
tables            tables for ``kubectl get``
conditions        conditions in a status
"""

__all__: list[str] = []
