"""Creates the member of a process that shares the objects of its program with other replicas."""

from random import Random
from socket import gethostname

from myrmidon.api.clock import Clock
from myrmidon.api.objects import kinds
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.io.client import Client
from myrmidon.runtime.leader.election import Election
from myrmidon.runtime.leader.elector import Elector
from myrmidon.runtime.logs import Logger
from myrmidon.runtime.metrics.families import Metrics
from myrmidon.runtime.options import ManagerOptions
from myrmidon.runtime.shards.board import ShardBoard
from myrmidon.runtime.shards.member import ShardMember
from myrmidon.runtime.shards.shard_map import LABEL, label_value, member_name


def make_member(
    client: Client,
    program: str,
    namespace: str,
    options: ManagerOptions,
    *,
    clock: Clock,
    rng: Random,
    log: Logger,
    metrics: Metrics,
) -> ShardMember:
    """Return a member with a Lease of its own.

    The name of the Lease always has a random suffix, also if the identity is fixed: the shard map
    must tell a process from an earlier one of the same identity, which may still be running.
    """
    suffix = f"{rng.getrandbits(40):010x}"
    identity = f"{options.identity or gethostname()}-{suffix}"
    name = member_name(program, identity)
    elector = Elector(
        client,
        ObjectRef(kinds.LEASE, name, namespace),
        Election(identity, options.terms, alone=True),
        clock=clock,
        log=log,
        metrics=None,
        labels={LABEL: label_value(program)},
    )
    board = ShardBoard(name, options.shard_by, options.terms)
    return ShardMember(
        client, program, namespace, elector, board, clock=clock, log=log, metrics=metrics.shards
    )
