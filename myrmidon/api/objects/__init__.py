"""Objects of the Kubernetes API as plain JSON, and their identity.

refs             Kind and ObjectRef: which kind, which object
kinds            the built-in kinds as constants
accessors        read a field of an object that may lack it: name, labels, owners, finalizers
conditions       status conditions: build, find, set
managed_fields   which field manager wrote which field
"""

__all__: list[str] = []
