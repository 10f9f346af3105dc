"""Metrics, under the names that dashboards for controller-runtime and achilles use.

families        the declaration of every metric
series          counters and histograms without locks
collectors      series per object, created for each scrape
controller      records passes and the queue of one controller
client          records requests
shards          how replicas share the objects
webhooks        requests to webhooks
exposition      prints a scrape in portions
scrape_access   decides who may read the metrics
"""

from myrmidon.runtime.metrics.families import Metrics

__all__ = ["Metrics"]
