"""Typed resources: pydantic classes for the specs and statuses of custom resources.

resource          Resource, the base class of a custom resource
class_keywords    unknown keywords of a class statement
definitions       the arguments of its class statement, checked at import
hubs              versions of a kind: which class converts to which
metadata          its attributes that read metadata
status            Status, the base class of statuses, and the patch of what a pass changed
model             Model, the base class of everything inside a spec or status
field_arguments   misspelled arguments of pydantic's Field
markers           what a CustomResourceDefinition can express and a Python type cannot
ready_made_rules  rules that are needed often: immutable fields, one-of
scalars           Quantity, Duration, Base64, IntOrString
strictness        accept and refuse the same values as the API server
frozen            read-only lists and maps

Loading this package loads pydantic, so nothing else in ``api`` imports it.
"""

__all__: list[str] = []
