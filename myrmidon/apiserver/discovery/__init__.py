"""Responses to paths that are not resources: version, health, discovery, OpenAPI.

paths                  finds the document of a path
groups                 API groups, versions and resources, in the older and the aggregated form
openapi                OpenAPI v3: an index, and a document for each group and version
openapi_v2             OpenAPI v2: one document
openapi_v2_protobuf    the same document as protobuf, which kubectl asks for
issuer                 who signs tokens of service accounts, for OpenID Connect
metrics                /metrics: the number of stored objects
health                 /healthz, /livez and /readyz
"""

__all__: list[str] = []
