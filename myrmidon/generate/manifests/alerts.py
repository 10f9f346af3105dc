"""The alerts of a controller, as a PrometheusRule of the Prometheus operator.

Each alert stands for one row of the table in ``docs/how-to/operate.md``, which a test compares.  An
expression counts only the metrics of this program, by the label ``job``: that is the name of the
Service that the ServiceMonitor scrapes.  A controller that is busy for a while must not alert, so
each alert has to last.
"""

from typing import NamedTuple

from myrmidon.api.objects.accessors import Json
from myrmidon.generate.manifests.packaging import Packaging


class Alert(NamedTuple):
    """One alert; ``%s`` in the expression stands for the labels of the program."""

    name: str
    expression: str
    lasting: str
    severity: str
    summary: str


ALERTS = (
    Alert(
        "NotReady",
        'achilles_resource_readiness{%s,status!="True"} == 1',
        "30m",
        "warning",
        "An object has not been Ready for 30 minutes; `myrmidon explain` says what it waits for.",
    ),
    Alert(
        "PassesFail",
        "rate(controller_runtime_reconcile_errors_total{%s}[5m]) > 0",
        "15m",
        "warning",
        "Passes have failed for 15 minutes; the log has the errors.",
    ),
    Alert(
        "WorkWaits",
        "histogram_quantile(0.99, rate(workqueue_queue_duration_seconds_bucket{%s}[5m])) > 60",
        "10m",
        "warning",
        "Objects wait for more than a minute until they are reconciled; raise --workers.",
    ),
    Alert(
        "TwoWriters",
        "myrmidon_stalled_objects{%s} > 0",
        "5m",
        "warning",
        "Another writer changes a field back after each write of this controller.",
    ),
    Alert(
        "Drift",
        "increase(myrmidon_drift_corrections_total{%s}[1h]) > 0",
        "0m",
        "info",
        "Another writer changed objects of this controller; the log line `drift corrected` names them.",
    ),
    Alert(
        "CacheStale",
        "myrmidon_cache_staleness_seconds{%s} > 120",
        "5m",
        "critical",
        "A cache has got no answer from the API server for two minutes.",
    ),
    Alert(
        "ProcessBlocked",
        "myrmidon_loop_lag_seconds{%s} > 1",
        "5m",
        "warning",
        "The event loop stands still for more than a second: a state blocks, or there is too little CPU.",
    ),
    Alert(
        "KindMissing",
        "myrmidon_missing_kinds{%s} == 1",
        "10m",
        "warning",
        "The cluster does not serve a kind that the controller waits for.",
    ),
    Alert(
        "ObjectUnreadable",
        "myrmidon_unreadable_objects{%s} > 0",
        "10m",
        "warning",
        "An object cannot be read; the log names it.",
    ),
    Alert(
        "NoLeader",
        "sum(leader_election_master_status{%s}) == 0",
        "5m",
        "critical",
        "No replica leads, so nothing is reconciled.",
    ),
    Alert(
        "SlicesUnowned",
        "min(myrmidon_shard_slices_unowned{%s}) > 0",
        "2m",
        "critical",
        "No replica works on a part of the objects; `myrmidon shards` says which.",
    ),
)


def prometheus_rule(packaging: Packaging) -> Json:
    """Return the PrometheusRule with all alerts, whose kind a cluster may lack."""
    mine = f'job="{packaging.metrics_service}"'
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {
            "name": packaging.name,
            "namespace": packaging.namespace,
            "labels": packaging.labels,
        },
        "spec": {
            "groups": [{"name": packaging.name, "rules": [_rule(alert, mine) for alert in ALERTS]}]
        },
    }


def _rule(alert: Alert, mine: str) -> Json:
    return {
        "alert": f"Controller{alert.name}",
        "expr": alert.expression % mine,
        "for": alert.lasting,
        "labels": {"severity": alert.severity},
        "annotations": {"summary": alert.summary},
    }
