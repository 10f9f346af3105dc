"""Metrics, under the names that dashboards of controller-runtime and achilles know.

families     every metric, declared once
series       counters and histograms without locks
collectors   gauges per object, made when they are asked for
controller   what the passes and the queue of one controller report
client       what the requests report
exposition   the text of a scrape, in portions
"""

from myrmidon.runtime.metrics.families import Metrics

__all__ = ["Metrics"]
