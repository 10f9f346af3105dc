"""Recorded facts about the built-in kinds, loaded on first use.

files        the data files, as JSON
resources    the served groups, versions, resources and verbs
types        the Go types behind the kinds, compiled to schema nodes
"""

__all__: list[str] = []
