"""The hash FNV-1a with 64 bits, with which the API server divides objects into shards."""

_OFFSET_BASIS = 0xCBF29CE484222325
_PRIME = 0x100000001B3
_MASK = 0xFFFFFFFFFFFFFFFF


def fnv1a_64(text: str) -> int:
    """Return the 64-bit FNV-1a hash of a text, over its bytes in UTF-8."""
    found = _OFFSET_BASIS
    for byte in text.encode():
        found = (found ^ byte) * _PRIME & _MASK
    return found
