"""Responses to paths that are not resources: version, health, discovery, OpenAPI.

paths      finds the document of a path
groups     API groups, versions and resources, in the older and the aggregated form
openapi    OpenAPI v2 and v3
health     /healthz, /livez and /readyz
"""

__all__: list[str] = []
