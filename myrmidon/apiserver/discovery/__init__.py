"""Paths that are not about a resource: version, health, discovery, OpenAPI.

paths      which path is answered by which document
groups     groups, versions and resources, in the old and the aggregated form
openapi    OpenAPI v2 and v3
health     /healthz, /livez and /readyz
"""

__all__: list[str] = []
