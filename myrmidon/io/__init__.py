"""The hands on the API server: requests, watches, caches.  The only package that opens sockets.

    access/          kubeconfig, credentials, certificates: where the server is, and who we are
    http/            the transport: pool, connections, TLS, proxies, the fence of leader election
    watch/           list and watch: protocol, reflector, cache, indexes, subscriptions
    lists/           lists of objects as the server sends them: scope, answers, scanner
    timers/          clock, deadlines, wakeups, turns of the event loop
    client           get, list, create, patch, delete, watch over any transport
    throttle         rate limit and Retry-After
    applicator       writes the outputs of a state
    own_writes       own writes: shown at once, their watch events recognised, lost answers
    stall_guard      damps writes that another writer reverts each time
    warning_headers  what the API server warned of
    events           Kubernetes Events
    discovery        which kinds a server has
    connect_errors   why a connection failed, in words
    tasks            tasks whose unexpected end is an error

``access`` and ``http`` are not imported here, so that a program without a network does not pay for one.
"""

from myrmidon.io.client import Client, Observer, is_ambiguous
from myrmidon.io.discovery import Discovery
from myrmidon.io.events import EventRecorder
from myrmidon.io.lists.scope import Scope
from myrmidon.io.timers.clock import LoopClock
from myrmidon.io.watch.cache import Cache
from myrmidon.io.watch.caches import Caches
from myrmidon.io.watch.changes import Change, Source
from myrmidon.io.watch.indexes import by_label, by_owner
from myrmidon.io.watch.reflector import Reflector
from myrmidon.io.watch.subscriptions import Health, Subscription
from myrmidon.io.watch.views import View

__all__ = [
    "Cache",
    "Caches",
    "Change",
    "Client",
    "Discovery",
    "EventRecorder",
    "Health",
    "LoopClock",
    "Observer",
    "Reflector",
    "Scope",
    "Source",
    "Subscription",
    "View",
    "by_label",
    "by_owner",
    "is_ambiguous",
]
