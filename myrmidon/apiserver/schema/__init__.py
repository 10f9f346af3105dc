"""Structural schemas of custom resources: compiling them, and applying them to objects.

    structural     compile an openAPIV3Schema into schema nodes (``schema_node``)
    definitions    validate a CustomResourceDefinition
    conforming     bring an object into shape: prune, drop nulls, decode embedded metadata
    object_meta    decode metadata as Go does
    defaulting     fill in the defaults
    validation     validate an object against its schema
    rules          evaluate x-kubernetes-validations, with the package ``cel``

All of these are functions of the values that are passed in, without a store or a clock.  The plans
and programs that they compile from a schema are cached in its nodes (``Schema.plans``), so each
schema is compiled once.
"""
