"""The forms of bodies and answers.

negotiation    which form a client accepts
protobuf       bodies in protobuf
yaml           bodies in YAML
"""

__all__: list[str] = []
