"""The formats of request and response bodies.

negotiation        chooses the response format from the Accept header
protobuf           reads and writes objects in protobuf
protobuf_format    the wire format of protobuf
yaml               reads bodies in YAML
"""

__all__: list[str] = []
