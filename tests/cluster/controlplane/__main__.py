"""Run a control plane until Ctrl-C: `python -m tests.cluster.controlplane --kcm`."""

import argparse
import signal
import sys
from pathlib import Path

from tests.cluster.controlplane.binaries import UnavailableError, find
from tests.cluster.controlplane.controlplane import CONTROLLERS, ControlPlane
from tests.cluster.controlplane.processes import StartError


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.cluster.controlplane", description=__doc__
    )
    parser.add_argument("--build", action="store_true", help="find or build the binaries, no more")
    parser.add_argument("--kcm", action="store_true", help="with garbage collector and namespaces")
    parser.add_argument("--controllers", help="other controllers for --kcm, with commas; * is all")
    parser.add_argument("--audit", action="store_true", help="write DIR/audit.log")
    parser.add_argument("--dir", type=Path, help="keep everything here (default: temporary)")
    parser.add_argument("--port", type=int, help="of the API server (default: a free one)")
    return parser.parse_args()


def serve(options: argparse.Namespace) -> None:
    """Start, print the kubeconfig, and wait; SIGTERM ends it as cleanly as Ctrl-C."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    chosen = tuple(options.controllers.split(",")) if options.controllers else CONTROLLERS
    plane = ControlPlane(
        find(),
        folder=options.dir,
        port=options.port,
        controllers=chosen if options.kcm or options.controllers else (),
        audit=options.audit,
    )
    with plane:
        print(plane.kubeconfig, flush=True)  # noqa: T201  # scripts read it from here
        signal.pause()


def main() -> int:
    """Run it; return 1 with a one-line reason if no control plane is available."""
    options = parse()
    try:
        if options.build:
            find()
        else:
            serve(options)
    except (UnavailableError, StartError) as error:
        print(error, file=sys.stderr)  # noqa: T201
        return 1
    except KeyboardInterrupt:
        return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
