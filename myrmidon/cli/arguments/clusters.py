"""The flags that choose a cluster, and the error when it cannot be read."""

import argparse
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from myrmidon.cli.progress import doing
from myrmidon.errors import ApiError, TransportError, UnauthorizedError, UsageError
from myrmidon.io.access.kubeconfig import Endpoint, load_endpoint
from myrmidon.io.client import Client
from myrmidon.io.http.transport import HttpTransport
from myrmidon.runtime.startup.preflight import UNAVAILABLE, unauthorized, unreachable


def add_cluster_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments that choose a cluster."""
    parser.add_argument("--kubeconfig", metavar="FILE")
    parser.add_argument("--context", metavar="NAME", help="of the kubeconfig")


@asynccontextmanager
async def reading(args: argparse.Namespace) -> AsyncIterator[tuple[Client, Endpoint]]:
    """A client of the chosen cluster, and where that is."""
    doing("reading the kubeconfig")
    endpoint = await load_endpoint(args.kubeconfig, args.context)
    doing(f"waiting for the cluster at {endpoint.host}")
    client = Client(HttpTransport(endpoint))
    try:
        yield client, endpoint
    except UnauthorizedError as error:
        raise unauthorized(error) from None
    except UNAVAILABLE as error:
        raise unreachable(error) from None
    except (ApiError, TransportError) as error:
        raise UsageError(
            f"the cluster cannot be read: {error}\n"
            "  fix: choose a context with the necessary rights (--context), or another cluster (--kubeconfig)"
        ) from None
    finally:
        await client.close()
