"""Structural schemas of custom resources: what a schema says, and what follows from it.

    structural     from an openAPIV3Schema to schema nodes (``schema_node``)
    definitions    what is wrong with a CustomResourceDefinition
    conforming     prune, drop nulls, decode embedded metadata: the shape of an object
    object_meta    metadata as Go decodes it
    defaulting     the defaults
    validation     what is wrong with an object
    rules          x-kubernetes-validations, run by the package ``cel``

Everything is a function of values.  What is compiled from a schema is kept in its nodes.
"""
