"""The lean turns of virtual time have the order of asyncio's own, and fall back to those where they must."""

import asyncio
import socket
from typing import Any, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from myrmidon.testing.harness.clock import VirtualTimeLoop
from myrmidon.testing.harness.turns import DeadlockError
from myrmidon.testing.simulation.loop import SimulationLoop

Step: TypeAlias = tuple[int, float | None, bool, list[Any]]
"""A callback: its name, its delay (None: soon), whether it is cancelled, and what it plans itself."""

steps: st.SearchStrategy[list[Step]] = st.recursive(
    st.just([]),
    lambda inner: st.lists(
        st.tuples(
            st.integers(0, 99),
            st.none() | st.sampled_from([0.0, 1.0, 1.0, 2.5, 60.0]),
            st.booleans(),
            inner,
        ),
        max_size=4,
    ),
    max_leaves=12,
)


def played(plan: list[Step], *, own_turns: bool) -> list[tuple[int, float]]:
    """Return which callbacks ran, and when; with ``own_turns``, in the turns of asyncio itself."""
    loop = VirtualTimeLoop()
    loop.set_debug(own_turns)
    ran: list[tuple[int, float]] = []

    def play(what: list[Step]) -> None:
        for name, delay, cancelled, inner in what:

            def act(name: int = name, inner: list[Step] = inner) -> None:
                ran.append((name, loop.time()))
                play(inner)

            made: Any = loop.call_soon(act) if delay is None else loop.call_later(delay, act)
            if cancelled:
                made.cancel()
                assert made.cancelled()

    async def main() -> None:
        play(plan)
        await asyncio.sleep(1000)  # noqa: TID251 - virtual time

    loop.run_until_complete(main())
    loop.close()
    return ran


@settings(max_examples=60, deadline=None)
@given(steps)
def test_callbacks_and_timers_run_in_the_order_and_at_the_times_of_asyncios_own_turns(
    plan: list[Step],
) -> None:
    """Also if they are cancelled, or planned by other callbacks."""
    assert played(plan, own_turns=False) == played(plan, own_turns=True)


def test_timers_of_the_same_time_fire_in_the_order_in_which_they_were_set() -> None:
    """However many there are."""
    plan: list[Step] = [(number, 1.0, False, []) for number in range(50)]
    assert [name for name, _ in played(plan, own_turns=False)] == list(range(50))


def test_a_loop_in_which_nothing_can_go_on_is_a_deadlock() -> None:
    """Instead of a test that hangs."""
    for made in (VirtualTimeLoop, SimulationLoop):
        loop = made()
        with pytest.raises(DeadlockError, match="no timer is set"):
            loop.run_until_complete(loop.create_future())
        loop.close()


def test_an_error_in_a_callback_is_reported_and_the_others_run() -> None:
    """As in any event loop."""
    loop, seen = VirtualTimeLoop(), list[Any]()
    loop.set_exception_handler(lambda _loop, told: seen.append(str(told["exception"])))

    def fail() -> None:
        raise ValueError("broken")

    async def main() -> None:
        loop.call_soon(fail)
        loop.call_soon(seen.append, "next")
        await asyncio.sleep(1)  # noqa: TID251

    loop.run_until_complete(main())
    loop.close()
    assert seen == ["broken", "next"]


def test_cancelled_timers_do_not_pile_up() -> None:
    """Every request sets a timer for its deadline, and cancels it long before that."""
    loop = VirtualTimeLoop()
    kept = loop.call_later(3600, lambda: None)
    for _ in range(5000):
        loop.call_later(30, lambda: None).cancel()
    assert len(loop._scheduled) <= 1001
    assert kept in loop._scheduled
    loop.close()


def test_a_loop_with_sockets_reads_them() -> None:
    """A webhook that is asked over the network works in virtual time as well."""
    for made in (VirtualTimeLoop, SimulationLoop):
        loop = made()
        ours, theirs = socket.socketpair()
        ours.setblocking(False)

        async def main(loop: Any = loop, ours: Any = ours, theirs: Any = theirs) -> bytes:
            arrived = loop.create_future()
            loop.add_reader(ours.fileno(), lambda: arrived.set_result(ours.recv(9)))
            theirs.send(b"hello")
            for _ in range(3):
                await asyncio.sleep(0)  # noqa: TID251 - in its turns the loop looks at its sockets
            found: bytes = arrived.result()
            loop.remove_reader(ours.fileno())
            await asyncio.sleep(5)  # noqa: TID251 - lean turns again
            return found

        assert loop.run_until_complete(main()) == b"hello"
        assert (loop.sockets, loop.time()) == (0, 5.0)
        loop.close()
        ours.close()
        theirs.close()


def test_an_abandoned_loop_runs_no_code_but_the_cleanup_of_its_coroutines() -> None:
    """A coroutine that awaits in its cleanup, or fails in it, does not stop the others."""
    loop, seen = SimulationLoop(), list[str]()

    async def work(name: str) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            seen.append(name)
            if name == "awaits":
                await asyncio.sleep(1)  # noqa: TID251
            if name == "fails":
                raise ValueError(name)

    async def main() -> None:
        for name in ("awaits", "fails", "ends"):
            loop.call_soon(loop.create_task, work(name))
        loop.call_later(1, seen.append, "a timer")
        for _ in range(3):
            await asyncio.sleep(0)  # noqa: TID251

    loop.run_until_complete(main())
    loop.abandon()
    loop.close()
    assert seen == ["awaits", "fails", "ends"]
