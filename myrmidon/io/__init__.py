"""The hands on the API server: requests, watches, caches.  The only package that opens sockets.

    scope       what one list and watch are about        value
    client      get, list, create, patch, delete, watch  over any transport
    throttle    rate limit, retry after                  decision
    watching    the watch protocol                       decision
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
    pacing      ends a turn of the event loop after 10 ms of work
    tasks       tasks whose unexpected end is an error
    deadlines   many deadlines, one alarm

    The way of a request to the server, from the top:

    throttle    waits for the rate limit
    fencing     stops writes of a process that does not lead
    http        the transport: deadlines, credentials, certificates
    pool        which connection a request is sent on
    slots       how many requests are under way
    connections one HTTP connection: a request, then its answer      imports httptools
    streams     an answer that is read while it arrives
    tls         TLS on a wire
    tunnels     CONNECT through a proxy
    wires       one TCP connection, on an asyncio transport
    dialing     opens it: addresses, proxy, handshake                imports aiohappyeyeballs
    addresses   where the server and its proxy are

Modules of the second and the third group are not imported here, so that a program without a network
does not pay for one.
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
