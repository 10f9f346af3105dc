"""Arguments of a process that is one of several replicas: leader election, shards."""

import argparse


def count(text: str) -> int:
    """Return a positive number."""
    if not text.isdigit() or text == "0":
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number")
    return int(text)


def add_replica_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--leader-election",
        action=argparse.BooleanOptionalAction,
        help="run several replicas, of which one, the leader, works",
    )
    parser.add_argument(
        "--leader-election-id",
        default="",
        metavar="ID",
        help="name of the Lease; default: myrmidon- and the name and group of the first controller",
    )
    parser.add_argument(
        "--leader-election-namespace",
        default="",
        metavar="NS",
        help="namespace of the Lease (default: the pod's or the context's)",
    )
    parser.add_argument(
        "--shards",
        choices=("auto",),
        help="run several replicas that all work, each on its share of the objects",
    )
    parser.add_argument(
        "--processes",
        type=count,
        default=1,
        metavar="N",
        help="start so many processes on this machine, which share the objects as --shards auto does (default 1)",
    )
    parser.add_argument(
        "--shard-by",
        choices=("uid", "namespace"),
        default="uid",
        help="how --shards divides the objects: by uid (default), or all objects of a namespace together",
    )
