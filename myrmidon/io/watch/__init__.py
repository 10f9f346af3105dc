"""Caches that are kept up to date with the server by list and watch.

protocol        decides between list, watch, Ask and backoff             no I/O
actions         the requests that the protocol asks for                  values
reflector       sends the requests of the protocol, fills the cache
changes         cache entries (bytes), and changes for subscribers       values
store           the entries of a cache by namespace and name, with indexes
cache           decides which events, list items and own writes count    no I/O
tombstones      deletions that a late event must not undo
indexes         objects by label, owner or a function of the controller
subscriptions   delivers changes to subscribers
caches          one cache per scope, shared by all controllers
views           the caches of one kind, as one controller reads them
"""

__all__: list[str] = []
