"""Immutable fields and one-of on a real API server: the same answers as on the embedded one."""

import asyncio
from pathlib import Path

from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.errors import InvalidError
from myrmidon.generate import crd
from myrmidon.io.access.kubeconfig import load_endpoint
from myrmidon.io.client import Client
from myrmidon.io.http.transport import HttpTransport
from myrmidon.io.timers.clock import LoopClock
from myrmidon.runtime.logs import Logger
from myrmidon.runtime.startup.installation import Installation
from tests.generate.test_immutable import BASE, CHANGES, Box


def test_changes_are_refused_as_on_the_embedded_server(kubeconfig: Path, namespace: str) -> None:
    """Every case of the other test, on one object each."""

    async def scenario() -> list[tuple[Json, Json, str]]:
        transport = HttpTransport(await load_endpoint(str(kubeconfig), None))
        client = Client(transport)
        definition = crd(Box)
        await Installation(client, [definition], LoopClock(), Logger("test")).complete()
        wrong = []
        for number, (old, new, refused) in enumerate(CHANGES):
            made = Box(name=f"box-{number}", namespace=namespace, spec={**BASE, **old}).to_json()
            await client.create(Box.KIND, made)
            said = ""
            try:
                ref = ObjectRef(Box.KIND, f"box-{number}", namespace)
                await client.patch(ref, {"spec": new})
            except InvalidError as error:
                said = error.message
            if (refused not in said) or bool(said) != bool(refused):
                wrong.append((old, new, said))
        ref = ObjectRef(kinds.CUSTOM_RESOURCE_DEFINITION, definition["metadata"]["name"])
        await client.delete(ref)
        await transport.close()
        return wrong

    assert asyncio.run(scenario()) == []
