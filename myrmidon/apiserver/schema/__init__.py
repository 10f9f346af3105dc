"""Types of objects: what a schema says, and what follows from it.

    types         the compiled node that everybody walks
    structural    from an openAPIV3Schema to nodes
    definitions   what is wrong with a CustomResourceDefinition
    conforming    prune, drop nulls, default: the shape of an object
    validation    what is wrong with an object
    rules         x-kubernetes-validations

Everything is a function of values.  What is compiled from a schema is kept in its nodes.
"""
