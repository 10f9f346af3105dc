"""CustomResourceDefinitions from resource classes.

definitions  CRDs with all their versions
schema       the structural schema of a model
constraints  constraints of pydantic as keywords of the schema
docstrings   descriptions of fields
refusals     types without a structural form: why, and what to write instead
"""
