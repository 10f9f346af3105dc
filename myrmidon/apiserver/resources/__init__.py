"""The parts common to all resource types, built-in or custom.

registry          the resource types that are served, by group, version and plural
strategy          the hooks of a resource type: decoding, defaults, preparation, validation
generation        metadata.generation: when it grows
metadata          ObjectMeta: validation, owner references, finalizers
representation    objects as one version shows them, and their JSON, encoded once
selection         label and field selectors of a list or watch
tables            tables for ``kubectl get``
start_objects     the objects that a new cluster has
conditions        conditions in a status
"""

__all__: list[str] = []
