"""The formats of request and response bodies.

negotiation    chooses the response format from the Accept header
protobuf       reads bodies in protobuf
yaml           reads bodies in YAML
"""

__all__: list[str] = []
