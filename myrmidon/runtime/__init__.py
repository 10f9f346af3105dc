"""Runs state machines against servers.

manager          many controllers in one process: start, lead, stop, fail together
loop             one controller: its view of the cluster, its queue, its workers
queue, delays    which key is next, and when
worker           takes keys and has them reconciled
triggers         which objects a change concerns
backoff          the delay after failures
cluster_view     what one controller sees of its cluster, through shared caches
children         what an object manages, and which objects are its children
reconcile/       one pass over one object
leader/          leader election
metrics/         every metric
health           healthz, readyz and metrics over HTTP
logs, trace, snapshot          what happened and why
supervision, lag, garbage      the process watches itself
inbox            events from other threads
preflight, remotes, options    start-up
"""

from myrmidon.runtime.leader import Terms
from myrmidon.runtime.manager import Manager
from myrmidon.runtime.metrics import Metrics
from myrmidon.runtime.options import ManagerOptions

__all__ = ["Manager", "ManagerOptions", "Metrics", "Terms"]
