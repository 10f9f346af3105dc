"""What the metadata of an object asks of its controller.

finalizers         how our finalizer is added and removed
reconcile_request  the annotation that asks for a pass
suspension         the label that stops all work on an object
"""
