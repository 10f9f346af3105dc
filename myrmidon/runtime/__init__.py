"""The runtime: runs controllers against an API server.

manager        several controllers in one process: start-up, leader election, shutdown
controller/    one controller: waiting for its kinds, its caches, queue and workers
reconcile/     one pass over one object
wakeups/       what causes a pass
queue/         which key is next and when: delays, backoff, retries, rate limits
views/         what a pass sees of the caches
leader/        leader election
shards/        replicas that work at the same time, each on its slices of the objects
metrics/       all metrics
observability/ change log, traces of passes, OpenTelemetry spans, snapshots
startup/       checks and installations before the first pass
process/       supervision of tasks, probes, event loop lag, garbage collection
options        the settings of a process
logs           structured logs
"""

from myrmidon.runtime.leader import Terms
from myrmidon.runtime.manager import Manager
from myrmidon.runtime.metrics import Metrics
from myrmidon.runtime.observability.change_log import WriteRecord
from myrmidon.runtime.options import ManagerOptions
from myrmidon.runtime.reconcile.error_reports import ErrorReport

__all__ = ["ErrorReport", "Manager", "ManagerOptions", "Metrics", "Terms", "WriteRecord"]
