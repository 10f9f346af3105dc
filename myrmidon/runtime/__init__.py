"""The runtime: runs controllers against an API server.

manager          several controllers in one process: start-up, leader election, shutdown
controller_run   one controller in a process: waiting for its kinds, start, removal
loop             one controller: its view of the cluster, its queue, its workers
queue, delays    which key is reconciled next, and when
worker           takes due keys, reconciles and requeues them
requeueing       when a key gets its next pass without a change
retries          counts failures of an object, and when they are given up
rate_limits      passes of one object, and retries of all, per time
triggers         which objects a change concerns
read_dependencies  what each pass has read, and whom a change of it wakes
refused_outputs  objects in the way of outputs, whose end causes a pass
backoff          the delay after failures
cluster_view     the part of the shared caches that one controller uses
children         which objects an object manages
reconcile/       one pass over one object
leader/          leader election
metrics/         all metrics
clients          connections to the API servers: fence, rate limit, leader election
health           probes and metrics over HTTP
logs             structured logs
trace, snapshot  the last pass of each object, for ``myrmidon explain`` and ``myrmidon dev``
change_log       a record of each write that changed an object
tracing          OpenTelemetry spans of passes, states and requests
supervision      tasks that must not end
lag, garbage     event loop lag, and fewer garbage collections
namespace_follower  namespaces that are chosen by their labels
inbox            keys from other threads
definitions      the CRDs of the program: compared with the cluster's, or installed
preflight        checks at start-up that every declared kind can be listed
remotes          other clusters that controllers watch, read and write
same_kind        two controllers of one kind
options          the settings of a process
"""

from myrmidon.runtime.change_log import WriteRecord
from myrmidon.runtime.leader import Terms
from myrmidon.runtime.manager import Manager
from myrmidon.runtime.metrics import Metrics
from myrmidon.runtime.options import ManagerOptions

__all__ = ["Manager", "ManagerOptions", "Metrics", "Terms", "WriteRecord"]
