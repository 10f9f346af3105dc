"""The recorded facts about the built-in kinds, opened when first asked for.

files        the data files, as JSON
resources    what is served: groups, versions, resources, verbs
types        the Go types behind the kinds, compiled to schema nodes
"""

__all__: list[str] = []
