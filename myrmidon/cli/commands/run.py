"""Run controllers against a cluster.

  myrmidon run examples/web_app                                 the cluster of your kubeconfig
  myrmidon run shop.controller:WebApps --namespace shop         one controller, one namespace
  myrmidon run . --leader-election --log-format json            as in a Deployment
  myrmidon run . --shards auto                                  one of several replicas at work
  myrmidon run . --processes 4                                  four processes at work, on four cores
  myrmidon run . --webhook-url https://laptop:9443              webhooks of a cluster, served here

The cluster is the one of --kubeconfig, of $KUBECONFIG, or of the pod this runs in.
SIGTERM and Ctrl-C stop it: running passes finish, the lease is released, the exit status is 0.
Each option can also be an environment variable (MYRMIDON_LOG_LEVEL for --log-level) or a line of the
file of --config (log-level: debug).  Flags win over variables, and variables over the file.
"""

import argparse
import asyncio
import logging
import os
import re
import sys
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from myrmidon.api.objects.accessors import Json
from myrmidon.cli.arguments.clusters import add_cluster_arguments
from myrmidon.cli.arguments.event_loops import add_event_loop_argument, loop_factory
from myrmidon.cli.arguments.parser import namespace_name
from myrmidon.cli.arguments.remote_clusters import open_remotes, remote_of
from myrmidon.cli.arguments.replicas import add_replica_arguments
from myrmidon.cli.arguments.settings import add_settings
from myrmidon.cli.arguments.webhooks import add_webhook_arguments
from myrmidon.cli.processes import run_group
from myrmidon.cli.progress import ready
from myrmidon.cli.rights_check import missing_rights, needed
from myrmidon.cli.signals import on_stop
from myrmidon.cli.targets.loading import load, load_admissions, made
from myrmidon.fsm.controller import Controller
from myrmidon.generate.manifests.layout import definitions_of
from myrmidon.generate.schema.definitions import conversion_client
from myrmidon.io.access.kubeconfig import load_endpoint
from myrmidon.io.client import Client
from myrmidon.io.http.transport import HttpTransport
from myrmidon.io.timers.clock import LoopClock
from myrmidon.runtime import Manager, ManagerOptions
from myrmidon.runtime.logs import Logger, configure
from myrmidon.runtime.observability.tracing import global_tracer
from myrmidon.runtime.webhooks.options import WebhookOptions
from myrmidon.ui.recording.sources import ManagerSource
from myrmidon.ui.server import LivePage, serve_page
from myrmidon.webhooks.admission.rules import Admission
from myrmidon.webhooks.versions import CONVERT_PATH

_DURATION = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "target", nargs="+", help="pkg.module[:Controller ...], or a folder with a controller.py"
    )
    add_cluster_arguments(parser)
    parser.add_argument(
        "--namespace",
        type=namespace_name,
        action="append",
        default=[],
        metavar="NS",
        help="watch only this namespace; may be repeated (default: all)",
    )
    parser.add_argument(
        "--namespace-selector",
        default="",
        metavar="LABELS",
        help="watch the namespaces with these labels, as they come and go",
    )
    add_replica_arguments(parser)
    _add_serving_arguments(parser)
    add_webhook_arguments(parser)
    _add_rate_arguments(parser)
    parser.add_argument(
        "--sync-period",
        type=duration,
        metavar="D",
        help="reconcile every object again after this time, such as 10h or 30m (default: the controller's)",
    )
    parser.add_argument(
        "--workers",
        type=int,
        metavar="N",
        help="objects reconciled at the same time, per controller (default: the controller's)",
    )
    _add_start_arguments(parser)
    _add_observing_arguments(parser)
    _add_page_arguments(parser)
    add_event_loop_argument(parser)
    parser.add_argument("--log-format", choices=("text", "json"), default="text")
    parser.add_argument(
        "--log-level", choices=("debug", "info", "warning", "error"), default="info"
    )
    add_settings(parser)


def _add_serving_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--metrics-addr",
        default=":8080",
        metavar="ADDR",
        help="where metrics are served (default :8080; '' for none)",
    )
    parser.add_argument(
        "--metrics-auth",
        action=argparse.BooleanOptionalAction,
        help="serve metrics only to those who may get /metrics, by their bearer token",
    )
    parser.add_argument(
        "--health-addr",
        default=":8081",
        metavar="ADDR",
        help="where healthz and readyz are served (default :8081; '' for none)",
    )


def _add_rate_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--client-qps",
        type=float,
        default=0.0,
        metavar="Q",
        help="limit of requests per second (default 0: no limit)",
    )
    parser.add_argument(
        "--client-burst",
        type=int,
        default=0,
        metavar="B",
        help="requests that may exceed --client-qps at once (default: twice its value)",
    )


def _add_start_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--start-timeout",
        type=duration,
        default=timedelta(seconds=30),
        metavar="D",
        help="how long an API server that does not answer is asked again at the start (default 30s)",
    )
    parser.add_argument(
        "--wait-for-kinds",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="wait for kinds that the cluster does not serve yet (default); with --no-wait-for-kinds, exit",
    )
    parser.add_argument(
        "--remote",
        action="append",
        type=remote_of,
        default=[],
        metavar="NAME=CONTEXT",
        help="a remote cluster: a context of the kubeconfig, or secret/NAMESPACE/NAME; may be repeated",
    )
    parser.add_argument(
        "--install-crds",
        action=argparse.BooleanOptionalAction,
        help="install the definitions of the resources, and overwrite older or newer ones",
    )
    parser.add_argument(
        "--migrate-storage",
        action=argparse.BooleanOptionalAction,
        help="write all objects in the storage version of their kind, in the background",
    )


def _add_observing_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--trace",
        action=argparse.BooleanOptionalAction,
        help="record the last pass of each object for `myrmidon explain --process`",
    )
    parser.add_argument(
        "--tracing",
        action=argparse.BooleanOptionalAction,
        help="open OpenTelemetry spans for passes, states and requests, with the global tracer provider",
    )
    parser.add_argument(
        "--change-log",
        default="",
        metavar="FILE",
        help="append a line of JSON for each write that changed an object; - for standard output",
    )


def _add_page_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--ui",
        default="",
        metavar="ADDR",
        help="where the live page is served, such as :8082 (this machine alone) or 0.0.0.0:8082 (default: nowhere)",
    )
    parser.add_argument(
        "--ui-token",
        default="",
        metavar="TOKEN",
        help="what a visitor of the live page needs (default: a random one, in the address that is logged)",
    )
    parser.add_argument(
        "--ui-write",
        action=argparse.BooleanOptionalAction,
        help="let visitors of the live page patch, delete, suspend and requeue objects",
    )


def run(args: argparse.Namespace) -> int:
    """Run until stopped."""
    for warning in args.settings.fill(args, os.environ):
        print(f"warning: {warning}", file=sys.stderr)
    configure(args.log_format, getattr(logging, args.log_level.upper()), whole_program=True)
    if args.processes > 1:
        ready()
        return run_group(args, sys.argv[1:])
    controllers = [_made(cls, args) for cls in load(args.target)]
    admissions = [made(cls) for cls in load_admissions(args.target)]
    ready()  # from here on the log says what happens
    with asyncio.Runner(loop_factory=loop_factory(args.event_loop)) as runner:
        runner.run(_run(controllers, admissions, args))
    return 0


def duration(text: str) -> timedelta:
    """Return ``1h30m`` or ``45s`` as a timedelta."""
    found = _DURATION.fullmatch(text)
    if not text or found is None:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a duration; write 10h, 30m, 90s or 1h30m"
        )
    hours, minutes, seconds = (float(part or 0) for part in found.groups())
    return timedelta(hours=hours, minutes=minutes, seconds=seconds)


async def _run(
    controllers: list[Controller[Any]], admissions: list[Admission[Any]], args: argparse.Namespace
) -> None:
    options = replace(_options(args), webhooks=_webhook_options(controllers, args))
    client = await _conversion_client(options.webhooks, args)
    definitions = definitions_of(map(type, controllers), client=client)
    manager = Manager(options, definitions=definitions)
    for controller in controllers:
        manager.add(controller)
    for admission in admissions:
        manager.add(admission)
    on_stop(manager.stop)
    async with AsyncExitStack() as stack:
        for name, transport in (await open_remotes(args, stack)).items():
            manager.add_remote(name, transport)
        await _warn_of_missing_rights(controllers, args)
        if args.ui:
            await _show(manager, args, stack)
        await manager.run()


async def _show(manager: Manager, args: argparse.Namespace, stack: AsyncExitStack) -> None:
    """Serve the live page, and log its address."""
    clock = LoopClock()
    source = ManagerSource(lambda: manager, " ".join(args.target), clock)
    live = LivePage(source, clock, token=args.ui_token, writable=bool(args.ui_write))
    url = await stack.enter_async_context(serve_page(live, args.ui))
    shown = f"{url}/" if args.ui_token else f"{url}/?token={live.token}"
    Logger("myrmidon.manager").info("live page", url=shown)


async def _warn_of_missing_rights(
    controllers: list[Controller[Any]], args: argparse.Namespace
) -> None:
    """Log which verbs of the generated role are not granted; the manager checks the lists itself."""
    if args.namespace_selector:
        return  # in which namespaces rights are needed is not known yet
    client = Client(HttpTransport(await load_endpoint(args.kubeconfig, args.context)))
    try:
        missing = await missing_rights(client, needed(map(type, controllers), args.namespace))
    finally:
        await client.close()
    if missing:
        Logger("myrmidon.manager").warning(
            "rights are missing",
            rights=[str(right) for right in missing],
            fix=f"let an administrator apply the role, `myrmidon generate rbac {' '.join(args.target)}`",
        )


def _webhook_options(
    controllers: list[Controller[Any]], args: argparse.Namespace
) -> WebhookOptions | None:
    """Return how webhooks are served; with a URL, at its port unless an address is given."""
    if not args.webhook_addr and not args.webhook_url:
        return None
    port = urlsplit(args.webhook_url).port or 443
    return WebhookOptions(
        addr=args.webhook_addr or f":{port}",
        name=args.webhook_name or (controllers[0].name if controllers else "myrmidon"),
        service=args.webhook_service,
        certificates=args.webhook_certs,
        url=args.webhook_url,
    )


async def _conversion_client(
    options: WebhookOptions | None, args: argparse.Namespace
) -> Json | None:
    """Return where the API server reaches the conversion between versions, for --install-crds."""
    if options is None or not args.install_crds:
        return None
    if options.url:
        return {"url": f"{options.url.rstrip('/')}{CONVERT_PATH}"}
    endpoint = await load_endpoint(args.kubeconfig, args.context)
    return conversion_client(endpoint.namespace or "default", options.service)


def _options(args: argparse.Namespace) -> ManagerOptions:
    return ManagerOptions(
        leader_election=bool(args.leader_election),
        leader_election_id=args.leader_election_id,
        leader_election_namespace=args.leader_election_namespace,
        shards=args.shards,
        shard_by=args.shard_by,
        metrics_addr=args.metrics_addr,
        metrics_auth=bool(args.metrics_auth),
        health_addr=args.health_addr,
        kubeconfig=args.kubeconfig,
        context=args.context,
        namespaces=tuple(args.namespace),
        namespace_selector=args.namespace_selector,
        client_qps=args.client_qps,
        client_burst=args.client_burst,
        start_timeout=args.start_timeout,
        wait_for_kinds=bool(args.wait_for_kinds),
        install_crds=bool(args.install_crds),
        migrate_storage=bool(args.migrate_storage),
        freeze_garbage=True,
        trace=bool(args.trace or args.ui),
        change_log=args.change_log,
        tracer=global_tracer() if args.tracing else None,
    )


def _made(cls: type[Controller[Any]], args: argparse.Namespace) -> Controller[Any]:
    """An instance, with what the command line says about its options."""
    controller = made(cls)
    chosen: dict[str, Any] = {}
    if args.workers is not None:
        chosen["workers"] = args.workers
    if args.sync_period is not None:
        chosen["sync_period"] = args.sync_period
    if chosen:
        controller.options = replace(cls.options, **chosen)  # type: ignore[misc]
    return controller
