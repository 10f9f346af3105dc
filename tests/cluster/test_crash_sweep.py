"""Crash sweep: kill -9 after every single write in the life of a web application (W1, C8, F15).

The controller runs in processes of its own.  For each k, in a namespace of its own, the first
process kills itself after its k-th write, and another one goes on from what the server holds.
"""

import multiprocessing
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from typing import Any

from tests.cluster.contender import crash
from tests.cluster.controlplane.controlplane import ControlPlane
from tests.cluster.controlplane.processes import wait_until
from tests.cluster.lives import SECONDS_MAX, Json, Life, new_namespace

LIVES_AT_ONCE = 6
PROCESSES = multiprocessing.get_context("forkserver")  # modules that are imported once start faster
PRELOAD = [
    "pytest",
    "myrmidon.io.access.kubeconfig",
    "tests.cluster.contender",
]


class Supervisor:
    """Starts the controller, and restarts it when it has died.

    Only the first process kills itself.
    """

    def __init__(self, life: Life, writes: int) -> None:
        self._life, self._writes = life, writes
        self.deaths = 0
        self._process = self._start(writes)

    def look(self) -> None:
        """Check whether the process still runs."""
        if self._process.exitcode is None:
            return
        assert self._process.exitcode == -signal.SIGKILL, self._process.exitcode
        self.deaths += 1
        assert self.deaths == 1, "a process died without being killed"
        self._process = self._start(0)

    def close(self) -> None:
        """End the process as every other one."""
        self._process.kill()
        self._process.join()

    def _start(self, writes: int) -> BaseProcess:
        kubeconfig = str(self._life.plane.kubeconfig)
        arguments = (kubeconfig, self._life.namespace, writes)
        process = PROCESSES.Process(target=crash, args=arguments, daemon=True)
        process.start()
        return process


@dataclass
class Story:
    """The objects that one life left after each of its steps."""

    writes: int
    deaths: int = 0
    worlds: list[dict[str, Json]] = field(default_factory=list)
    made: Counter[str] = field(default_factory=Counter)
    own_writes: int = 0


def live(plane: ControlPlane, writes: int) -> Story:
    """Run a whole life, with a crash after so many writes."""
    life, story = Life(plane, new_namespace(plane)), Story(writes)

    def chapter(act: Callable[..., None], is_over: Callable[[], bool], **spec: Any) -> None:
        act(**spec)

        def watched() -> bool:
            supervisor.look()
            return is_over()

        wait_until(watched, f"{act.__name__} with a crash after {writes} writes", SECONDS_MAX)
        story.worlds.append(life.world())

    with closing(Supervisor(life, writes)) as supervisor:
        chapter(life.create, life.is_converged, hosts=["shop.example"])
        chapter(life.change, life.is_converged, image="shop:2", replicas=3)
        chapter(life.change, life.is_converged, hosts=[])
        chapter(life.change, life.is_converged, hosts=["shop.example", "www.shop.example"])
        chapter(life.delete, lambda: not life.world())
        supervisor.look()
        story.deaths = supervisor.deaths
    story.made, story.own_writes = life.made(), len(life.own_writes())
    life.close()
    return story


@contextmanager
def closing(supervisor: Supervisor) -> Iterator[Supervisor]:
    """End the last process in any case."""
    try:
        yield supervisor
    finally:
        supervisor.close()


def test_a_crash_after_any_write_changes_nothing(plane: ControlPlane) -> None:
    """The objects after every step are the same, none is left over or created twice."""
    PROCESSES.set_forkserver_preload(PRELOAD)
    undisturbed = live(plane, 0)
    assert undisturbed.worlds[-1] == {}
    assert undisturbed.own_writes > 15, "a life without writes proves nothing"
    with ThreadPoolExecutor(LIVES_AT_ONCE) as pool:
        stories = list(pool.map(lambda k: live(plane, k), range(1, undisturbed.own_writes + 1)))
    wrong = [problem for story in stories if (problem := compared(story, undisturbed))]
    assert not wrong, "\n".join(wrong)


def compared(story: Story, undisturbed: Story) -> str:
    """Return what is wrong with a life, "" if nothing is."""
    problems = []
    if story.deaths != 1:
        problems.append(f"{story.deaths} crashes")
    # Not equal: a create that was under way at the death of its process happened, but the audit
    # log does not always call it a success, because its client was gone.
    if not story.made <= undisturbed.made:
        problems.append(f"made {story.made} instead of {undisturbed.made}")
    for number, (found, expected) in enumerate(zip(story.worlds, undisturbed.worlds, strict=True)):
        problems += [
            f"chapter {number}, {name}: {part} is {found.get(name, {}).get(part)} "
            f"instead of {expected.get(name, {}).get(part)}"
            for name in {**found, **expected}
            for part in ("metadata", "spec", "status")
            if found.get(name, {}).get(part) != expected.get(name, {}).get(part)
        ]
    return f"crash after write {story.writes}: {'; '.join(problems)[:900]}" if problems else ""
