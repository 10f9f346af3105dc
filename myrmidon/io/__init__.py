"""Access to the API server: requests, watches, caches.  Only this package opens sockets to it.

    access/          kubeconfig, credentials, certificates: finding the server, authentication
    http/            the transport: pool, connections, TLS, proxies, the fence of leader election
    watch/           list and watch: protocol, reflector, cache, indexes, subscriptions
    lists/           reading the answers to lists and watches: scope, answers, scanner
    timers/          clock, deadlines, wakeups, turns of the event loop
    client           get, list, create, update, patch, delete, watch over any transport
    throttle         rate limit and Retry-After
    applicator       writes the outputs of a state
    drift            which writes correct a change of another writer
    sent_writes      what listeners are told of each write
    own_writes       own writes: shown at once, their watch events recognised, lost answers
    stall_guard      slows down writes that another writer reverts each time
    warning_headers  Warning headers of the API server
    events           Kubernetes Events
    discovery        which kinds a server has
    connect_errors   readable reasons for failed connections
    tasks            tasks whose unexpected end is an error

``access`` and ``http`` are not imported here: a program that needs no network should not pay for
their imports.
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
