"""The hands on the API server: requests, watches, caches.  The only package that opens sockets.

    scope       what one list and watch are about        value
    client      get, list, create, patch, delete, watch  over any transport
    throttle    rate limit, retry after                  decision
    watching    the watch protocol                       decision
    scanner     where the parts of a JSON text are       plain functions
    shapes      what an object must look like            plain functions
    lists       the answer to a list, a line of a watch  read, a few objects at a time
    pacing      short turns of the event loop
    changes     what a cache holds and says              values
    cache       which facts about objects count          decision
    reflector   keeps a cache true to the server         loop
    caches      one cache per scope, shared              loop
    discovery   which kinds a server has
    events      Kubernetes Events
    clock       the clock of the event loop

    config      kubeconfig and in-cluster files          imports kubernetes-asyncio when used
    auth        tokens and files, and credentials that end
    exec_plugin credentials from a program
    oidc        credentials from a provider              imports aiohttp
    certificates the TLS context, and its files when they are replaced
    reasons     why a connection failed                  imports aiohttp
    alarm       one timer for many who wait
    deadlines   many deadlines, one alarm
    sockets     one connected socket, plain or TLS
    streams     an answer that is handed out while it comes
    connections a pool of HTTP connections               imports httptools
    proxied     the same through a proxy                 imports aiohttp
    http        the transport: deadlines, credentials, certificates

Those of the last group are not imported here, so that whoever runs without a network does not pay for one.
"""

from myrmidon.io.cache import Cache
from myrmidon.io.caches import Caches
from myrmidon.io.changes import Change, Source
from myrmidon.io.client import Client, Observer, is_ambiguous
from myrmidon.io.clock import LoopClock
from myrmidon.io.discovery import Discovery
from myrmidon.io.events import EventRecorder
from myrmidon.io.indexes import by_label, by_owner
from myrmidon.io.reflector import Reflector
from myrmidon.io.scope import Scope
from myrmidon.io.shared import Health, Subscription
from myrmidon.io.views import View

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
