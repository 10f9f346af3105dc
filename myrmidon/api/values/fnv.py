"""FNV-1a: the 64-bit hash by which Kubernetes divides objects into shards.

It is the hash of Go's ``hash/fnv`` (``New64a``), which the API server computes of ``metadata.uid`` or
``metadata.namespace`` for a sharded list and watch.  Client and server must agree on it bit by bit,
so every part of this program uses this one function.
"""

_OFFSET = 0xCBF29CE484222325
_PRIME = 0x100000001B3
_MASK = 0xFFFFFFFFFFFFFFFF

HASH_BITS = 64


def fnv1a_64(text: str) -> int:
    """Return the 64-bit FNV-1a hash of the UTF-8 bytes of a text."""
    found = _OFFSET
    for byte in text.encode():
        found = ((found ^ byte) * _PRIME) & _MASK
    return found
