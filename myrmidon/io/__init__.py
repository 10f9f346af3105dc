"""Access to the API server: requests, watches, caches.  Only this package opens sockets to it.

access/             kubeconfig, credentials, certificates: finding the server, authentication
http/               the transport: pool, connections, TLS, proxies, the fence of leader election
lists/              reading the answers to lists and watches: scope, answers, scanner
watch/              list and watch: protocol, reflector, cache, indexes, subscriptions
writes/             writing the outputs of a state: applicator, own writes, drift, stalls
timers/             clock, deadlines, wakeups, turns of the event loop
client              get, list, create, update, patch, delete, watch over any transport
throttle            rate limit and Retry-After
events              Kubernetes Events
discovery           which kinds a server has
kubernetes_asyncio  an ApiClient of kubernetes-asyncio on our transport
tasks               tasks whose unexpected end is an error

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
