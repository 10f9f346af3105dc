"""The laws of applying against the server that they are about: what is planned, sent and read again.

`python -m tests.cluster.test_planning DIR` records what the server makes of the samples, for the
same tests without a server (tests/sets/test_recorded.py).
"""

import json
import sys
from pathlib import Path
from typing import cast

import pytest

from myrmidon.api.objects import Json
from myrmidon.api.refs import ObjectRef
from myrmidon.api.requests import Request, Verb
from myrmidon.errors import InvalidError, api_error
from myrmidon.sets import Apply, plan, plan_recreate
from tests.cluster.controlplane.binaries import find
from tests.cluster.controlplane.client import Client, Response
from tests.cluster.controlplane.controlplane import ControlPlane
from tests.sets.samples import OPTIONS, PARENT, RECORDED, REFUSED, outputs


def send(client: Client, request: Request) -> Response:
    """Send a request as it was planned."""
    http = request.to_http()
    query = "&".join(f"{key}={value}" for key, value in http.query)
    path = f"{http.path}?{query}" if query else http.path
    kind = http.headers.get("content-type", "application/json")
    return client.request(http.method, path, request.body, content_type=kind)


def read(client: Client, ref: ObjectRef) -> Json:
    """Read the object as it is."""
    return cast("Json", send(client, Request(Verb.GET, ref)).body)


def applied(client: Client, output: Apply) -> Json:
    """Create the object and read it again."""
    request = plan(output, None, PARENT)
    assert request is not None
    answer = send(client, request)
    assert answer.status == 201, answer.body
    return read(client, output.ref)


@pytest.mark.parametrize("options", OPTIONS)
def test_a3_a_restart_on_converged_objects_costs_no_write(
    controlplane: ControlPlane, namespace: str, options: str
) -> None:
    """What the server adds to an object of any kind is no reason to write it again."""
    client = controlplane.client()
    for output in outputs(namespace, **OPTIONS[options]):
        current = applied(client, output)

        request = plan(output, current, PARENT)

        assert request is None, f"{output.ref} is written again, although it is\n{current}"


def test_recreate_knows_the_words_of_a_refusal(controlplane: ControlPlane, namespace: str) -> None:
    """Every kind has its own words for a field that can not change."""
    client = controlplane.client()
    for output in outputs(namespace, recreate=True):
        change = REFUSED.get(output.ref.kind.kind)
        if change is None or output.ref.name in ("balanced", "outside"):  # Services of other types
            continue
        current = applied(client, output)
        answer = send(client, Request(Verb.PATCH, output.ref, change))

        refusal = api_error(answer.status, answer.body)
        assert isinstance(refusal, InvalidError), answer.body
        assert plan_recreate(output, current, refusal) is not None, refusal


def record(directory: Path) -> None:
    """Write down what the server makes of the samples."""
    with ControlPlane(find(), folder=directory) as plane:
        client = plane.client()
        answers = [applied(client, output) for output in outputs("default")]
        for answer in answers:
            answer["metadata"].pop("managedFields", None)
    RECORDED.write_text(json.dumps(answers, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    record(Path(sys.argv[1]))
