"""Caches that are kept true to the server by list and watch.

protocol        list, watch, bookmark, 410, reconnect: the decision      no I/O
reflector       reads the stream and follows the protocol
changes         what a cache holds and tells                             values
store           the bytes of the cached objects
cache           which facts about objects count                          no I/O
tombstones      deletions that a late event must not undo
indexes         objects by label, owner or a function of the controller
subscriptions   who is told of changes
caches          one cache per scope, shared by all controllers
views           one controller's window on a cache
"""

__all__: list[str] = []
