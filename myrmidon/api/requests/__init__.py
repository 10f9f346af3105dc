"""Requests to the API server as values; no I/O.

request          one request: verb, object, body, options
paths            the URL paths of kinds and objects
selectors        label and field selectors: parse, print, match
shard_selectors  ranges of a hash that divide the objects of a kind: print, read, match
transport        the HTTP request and response that a request becomes, and the Transport that sends them
"""

__all__: list[str] = []
