"""Inbox: keys that other threads send to the event loop."""

import asyncio
from threading import Thread

from myrmidon.api.objects.refs import ObjectRef
from myrmidon.runtime.queue.inbox import Inbox
from tests.runtime.things import Thing

THREADS, KEYS = 8, 200


def test_keys_of_many_threads_arrive() -> None:
    """The keys of each thread arrive in order, and none is lost."""
    sent = {
        number: [ObjectRef(Thing.KIND, f"{number}-{key}", "default") for key in range(KEYS)]
        for number in range(THREADS)
    }
    arrived: list[ObjectRef] = []

    async def receive() -> None:
        inbox, complete = Inbox(asyncio.get_running_loop()), asyncio.Event()

        def take(key: ObjectRef, _delay: float) -> None:
            arrived.append(key)
            if len(arrived) == THREADS * KEYS:
                complete.set()

        def send(keys: list[ObjectRef]) -> None:
            for key in keys:
                inbox.put(key, 0.0)

        threads = [Thread(target=send, args=(keys,)) for keys in sent.values()]
        async with asyncio.timeout(60), asyncio.TaskGroup() as group:
            task = group.create_task(inbox.empty(take))
            for thread in threads:
                thread.start()
            await complete.wait()
            task.cancel()

    asyncio.run(receive(), debug=True)  # a call that is not thread-safe raises

    for number, keys in sent.items():
        assert [key for key in arrived if key.name.startswith(f"{number}-")] == keys
