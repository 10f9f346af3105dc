"""The runtime: runs controllers against an API server.

manager             several controllers in one process: start-up, leader election, shutdown
controller_run      one controller in a process: waiting for its kinds, start, removal
loop                one controller: its view of the cluster, its queue, its workers
worker              takes due keys, reconciles and requeues them
reconcile/          one pass over one object
wakeups/            what causes a pass
queue/              which key is next and when: delays, backoff, retries, rate limits
views/              what a pass sees of the caches
leader/             leader election
metrics/            all metrics
observability/      change log, traces of passes, OpenTelemetry spans, snapshots
startup/            checks and installations before the first pass
process/            supervision of tasks, probes, event loop lag, garbage collection
clients             connections to the API servers: fence, rate limit, leader election
namespace_follower  namespaces that are chosen by their labels
options             the settings of a process
logs                structured logs
error_reports       unexpected exceptions of states, for the log and for error trackers
"""

from myrmidon.runtime.error_reports import ErrorReport
from myrmidon.runtime.leader import Terms
from myrmidon.runtime.manager import Manager
from myrmidon.runtime.metrics import Metrics
from myrmidon.runtime.observability.change_log import WriteRecord
from myrmidon.runtime.options import ManagerOptions

__all__ = ["ErrorReport", "Manager", "ManagerOptions", "Metrics", "Terms", "WriteRecord"]
