"""Soak the controllers in faults on a real control plane: ``python -m tests.soak --minutes 10``.

Three replicas with leader election and one process without it run the controllers of ``chaos``, each
behind a proxy that misbehaves.  Users edit all the time; processes, API server, etcd and the Lease
meet the faults of ``plan``.  Then everything heals, and the run is judged: no child leaked, converged
as ``oracle`` says, no write at rest, no write by a replica that did not hold the Lease (``audit``),
memory, descriptors and tasks flat, every kind of fault seen.  The exit status is 1 if anything of
that fails.

If the run does not converge by itself, ``leftovers`` tells children that the garbage collector left
from those that we leaked.  Only then is kube-controller-manager restarted, which makes its garbage
collector list everything again.
"""

import argparse
import asyncio
import http.client
import json
import os
import shutil
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from tests.cluster.controlplane.binaries import UnavailableError, find
from tests.cluster.controlplane.client import Client
from tests.cluster.controlplane.controlplane import CONTROLLERS, ControlPlane
from tests.cluster.controlplane.processes import Group, StartError
from tests.soak import audit, collector, histories, leftovers, oracle, plan, users
from tests.soak.chaos import GROUP
from tests.soak.faults import Faults
from tests.soak.pace import monotonic, pause, wall
from tests.soak.processes import EXPECTED_ENDS, Slot
from tests.soak.proxy import Proxy
from tests.soak.replica import LEASE, TERMS
from tests.soak.report import Report, Sample, growth, never_fired

REST_SECONDS = 25.0
STANDSTILL_SECONDS = 120.0
CONVERGE_SECONDS_MAX = 900.0
POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "omitManagedFields": True,
    "rules": [
        {
            "level": "Metadata",
            "users": [collector.USER],
            "verbs": ["list", "watch"],
            "resources": [{"group": GROUP}],
        },
        {"level": "None", "verbs": ["get", "list", "watch"]},
        {
            # With the answers, because these have the uids that ``histories`` follows.
            "level": "RequestResponse",
            "resources": [
                {"group": "coordination.k8s.io", "resources": ["leases"]},
                {"group": "", "resources": ["configmaps", "secrets"]},
                {"group": GROUP, "resources": sorted(users.PLURALS.values())},
            ],
        },
        {"level": "Metadata"},
    ],
}


class Soak:
    """One run."""

    def __init__(self, options: argparse.Namespace, plane: ControlPlane, folder: Path) -> None:
        self._options, self._plane, self._folder = options, plane, folder
        self._seconds = options.minutes * 60
        self.report = Report(options.seed, options.minutes)
        self._group = Group()
        self._slots: list[Slot] = []
        self._findings = leftovers.Findings()

    async def run(self) -> None:
        """Start everything, let it suffer, let it heal, judge it; end every process."""
        try:
            async with AsyncExitStack() as stack:
                for number in range(plan.REPLICAS + 1):
                    proxy = await stack.enter_async_context(Proxy(self._plane.port).serving())
                    alone = number == plan.ALONE
                    self._slots.append(
                        Slot(number, self._plane, self._folder, proxy, self._group, alone=alone)
                    )
                await self._run()
        finally:
            for slot in self._slots:
                slot.end()
            self._group.close()

    async def _run(self) -> None:
        kinds = tuple(users.PLURALS)
        acts = plan.acts(self._options.seed, kinds, self._options.parents)
        crowd = users.Users(self._plane, acts, self._options.edits)
        strikes = plan.strikes(self._options.seed, self._seconds)
        faults = Faults(self._plane, self._slots)
        async with asyncio.TaskGroup() as group:
            keepers = [group.create_task(slot.supervise()) for slot in self._slots]
            editing = group.create_task(crowd.run())
            await self._suffer(faults, strikes)
            editing.cancel()
            left = await self._converged("seconds until converged")
            if left:
                await asyncio.to_thread(self._examine)
                left = await self._converged("seconds until converged after its restart")
            start = wall()
            await pause(REST_SECONDS)
            end = wall()
            for keeper in keepers:
                keeper.cancel()
        self._judge(faults, crowd, left, (start, end))

    async def _suffer(self, faults: Faults, strikes: Sequence[plan.Strike]) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(faults.run(strikes))
            for minute in range(1, int(self._seconds // 60) + 1):
                await pause(60.0)
                say(f"minute {minute}: {sum(faults.fired.values())} faults")
            await pause(self._seconds % 60)

    async def _converged(self, fact: str) -> list[str]:
        """Wait until the oracle is content; return what it still says at the end.

        A busy machine makes everything slow, so what ends the waiting is that nothing changes.
        """
        client, began_at = self._plane.client(), monotonic()
        before, changed_at = [""], began_at
        while True:
            found = await asyncio.to_thread(self._problems, client)
            seconds = monotonic() - began_at
            if found != before:
                before, changed_at = found, monotonic()
            is_still = monotonic() - changed_at > STANDSTILL_SECONDS
            if not found or is_still or seconds > CONVERGE_SECONDS_MAX:
                self.report.fact(fact, f"{seconds:.1f}" if not found else f"not in {seconds:.1f}")
                return found
            await pause(1.0)

    @staticmethod
    def _problems(client: Client) -> list[str]:
        try:
            found = oracle.problems(users.parents(client), users.children(client))
        except (OSError, http.client.HTTPException) as error:
            return [f"the API server does not answer: {error}"]
        return [one.text for one in found]

    def _examine(self) -> None:
        """Classify what is left over, then restart kube-controller-manager."""
        client = self._plane.client()
        parents, children = users.parents(client), users.children(client)
        known = histories.read(self._audit_lines())
        self._findings = leftovers.examine(parents, children, known)
        (self._folder / "leftovers.json").write_text(self._findings.as_json())
        objects = {"parents": parents, "children": children}
        (self._folder / "objects.json").write_text(json.dumps(objects, indent=1))
        self._plane.restart_manager()

    # ---------------------------------------------------------------------------------- verdicts

    def _judge(
        self,
        faults: Faults,
        crowd: users.Users,
        left: list[str],
        rest: tuple[float, float],
    ) -> None:
        report, lines = self.report, self._audit_lines()
        (self._folder / "faults.log").write_text(
            "".join(
                f"{leftovers.stamp(one.began_at)} {leftovers.stamp(one.ended_at)} {one.fault} {one.victim}\n"
                for one in faults.history
            )
        )
        shared = [slot for slot in self._slots if slot.number != plan.ALONE]
        log = audit.read_log(
            lines, LEASE, frozenset(name for slot in shared for name in slot.names)
        )
        everyone = frozenset(name for slot in self._slots for name in slot.names)
        all_writes = audit.read_log(lines, LEASE, everyone)
        report.fact("faults that had an effect", counted(faults.fired))
        report.fact("what users did", counted(crowd.counts))
        report.fact("lives", sum(len(slot.names) for slot in self._slots))
        ends = {name: how for slot in self._slots for name, how in slot.ends.items()}
        report.fact("ends", counted(Counter(ends.values())))
        report.fact(
            "writes", f"{len(all_writes.writes)}, of replicas with a lease {len(log.writes)}"
        )
        report.fact("writes by kind", counted(audit.summary(all_writes.writes)))
        report.fact("passes", int(sum(self._passes(slot) for slot in self._slots)))
        report.fact("takeovers", audit.takeovers(log.leases))
        report.fact(
            "longest time without a renewal", f"{audit.longest_gap(log.leases, rest[1]):.1f} s"
        )
        report.fact("parents at the end", len(users.parents(self._plane.client())))
        report.fact("memory of the lone process", self._memory(self._slots[plan.ALONE]))
        fired = never_fired(faults.fired, plan.FAULTS)
        report.verdict("every kind of fault had an effect", fired)
        self._judge_leftovers(lines)
        report.verdict("converged as the oracle says", left)
        at_rest = audit.writes_between(all_writes, *rest)
        report.verdict(f"no write at rest for {REST_SECONDS:g} s", [one.line for one in at_rest])
        wrong = audit.violations(log, TERMS.lease_seconds)
        report.verdict("no write without holding the lease", wrong)
        failed = [f"{name}: {how}" for name, how in ends.items() if how not in EXPECTED_ENDS]
        report.verdict("no process failed but for its lease", failed)
        grown = [line for slot in self._slots for name in slot.names for line in self._grown(name)]
        report.verdict("memory, descriptors and tasks are flat", grown)

    def _judge_leftovers(self, lines: Sequence[str]) -> None:
        report, found = self.report, self._findings
        report.fact("children left over before a restart", counted(found.counts()))
        if found.leftovers:
            known, seen = histories.read(lines), collector.watches(lines)
            deleted = leftovers.deleted_by(found.leftovers, known)
            report.fact("these were then deleted by", counted(deleted))
            late = max(one.late_seconds for one in found.leftovers)
            report.fact("longest time from an owner's deletion to a child", f"{max(late, 0):.3f} s")
            report.fact("problems of parents that waited", len(found.consequences))
            owners = {one.owner_uid for one in found.leftovers if one.owner_uid in known}
            hidden = sum(collector.is_hidden(uid, known, seen) for uid in owners)
            report.fact(
                "owners whose deletion was hidden from the garbage collector",
                f"{hidden} of {len(owners)}",
            )
        report.verdict("no child leaked", found.leaks)

    def _audit_lines(self) -> list[str]:
        files = sorted(self._plane.folder.glob("audit*.log"))
        return [line for file in files for line in file.read_text().splitlines()]

    def _samples(self, name: str) -> list[Sample]:
        path = self._folder / f"{name}.stats"
        lines = path.read_text().splitlines() if path.exists() else []
        said = [json.loads(line) for line in lines if line.endswith("}")]
        fields = ("age", "rss", "descriptors", "tasks", "passes", "works")
        return [Sample(*(one[field] for field in fields)) for one in said]

    def _grown(self, name: str) -> list[str]:
        return growth(name, self._samples(name))

    def _memory(self, slot: Slot) -> str:
        samples = self._samples(slot.names[0]) or [Sample(0, 0, 0, 0, 0, 0)]
        first, last = samples[len(samples) // 3], samples[-1]
        return (
            f"{first.rss / 2**20:.1f} -> {last.rss / 2**20:.1f} MiB, descriptors "
            f"{first.descriptors:g} -> {last.descriptors:g}, tasks {first.tasks:g} -> {last.tasks:g}"
        )

    def _passes(self, slot: Slot) -> float:
        ends = (self._samples(name)[-1:] for name in slot.names)
        return sum(one.passes for last in ends for one in last)


def counted(counts: Counter[str]) -> str:
    """Write counts in one line."""
    return ", ".join(f"{name} {number}" for name, number in sorted(counts.items())) or "none"


def say(text: str) -> None:
    """Print a line at once."""
    print(text, flush=True)  # noqa: T201 - a program of its own


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    environ = os.environ
    parser.add_argument("--minutes", type=float, default=float(environ.get("SOAK_MINUTES", "10")))
    parser.add_argument("--seed", type=int, default=int(environ.get("SOAK_SEED", "1")))
    parser.add_argument("--parents", type=int, default=100, help="about so many at a time")
    parser.add_argument("--edits", type=float, default=6.0, help="what users do each second")
    kept = Path(environ["SOAK_KEEP"]) if environ.get("SOAK_KEEP") else None
    parser.add_argument(
        "--keep", type=Path, default=kept, help="keep logs, audit log, etcd and measurements here"
    )
    return parser.parse_args()


def main() -> int:
    """Return 0 if everything held, 1 if not, 2 if there is no control plane to be had."""
    options = parse()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends every process, as Ctrl-C does
    folder = (options.keep or Path(tempfile.mkdtemp(prefix="soak-"))).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    say(f"soak: {options.minutes:g} minutes, seed {options.seed}, files in {folder}")
    try:
        binaries = find()
        with ControlPlane(
            binaries,
            folder=folder / "plane",
            controllers=CONTROLLERS,
            audit=True,
            audit_policy=POLICY,
            manager_verbosity=2,  # names each object that the garbage collector looks at
        ) as plane:
            users.install(plane)
            soak = Soak(options, plane, folder)
            asyncio.run(soak.run())
    except (UnavailableError, StartError) as error:
        say(str(error))
        return 2
    say(soak.report.text())
    if soak.report.failures:
        say(
            f"evidence is in {folder}: leftovers.json, plane/*.log, faults.log, replica*.log and .stats"
        )
        return 1
    if options.keep is None:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
