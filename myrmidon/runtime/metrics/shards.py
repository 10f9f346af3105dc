"""The metrics of replicas that share the objects of a program.  ``name`` is the program."""

from prometheus_client import CollectorRegistry, Counter, Gauge


class ShardMetrics:
    """Shows how the slices of the hash space are divided; no series without ``--shards``."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.slices = Gauge(
            "myrmidon_shard_slices",
            "Slices of the hash space on which this process works, of 256 in all.",
            ("name",),
            registry=registry,
        )
        self.unowned = Gauge(
            "myrmidon_shard_slices_unowned",
            "Slices without a living owner, as this process sees it.",
            ("name",),
            registry=registry,
        )
        self.members = Gauge(
            "myrmidon_shard_members",
            "Replicas that share the objects, as this process sees it.",
            ("name",),
            registry=registry,
        )
        self.moved = Counter(
            "myrmidon_shard_slices_moved_total",
            "Slices that this process gained or lost.",
            ("name", "direction"),
            registry=registry,
        )
