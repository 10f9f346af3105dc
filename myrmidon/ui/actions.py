"""Actions: what the buttons of the page do to an object, where that is allowed."""

from typing import Any

import orjson

from myrmidon.api.clock import Clock
from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.errors import UsageError
from myrmidon.fsm.metadata.reconcile_request import REQUESTED_AT
from myrmidon.fsm.metadata.suspension import SUSPEND
from myrmidon.io.client import Client

ACTIONS = ("patch", "delete", "suspend", "resume", "requeue")


async def act(client: Client, clock: Clock, ref: ObjectRef, action: str, text: str = "") -> str:
    """Do what a button says; return what was done, in words.  ``text`` is the JSON of a patch."""
    if action == "delete":
        await client.delete(ref)
        return f"{ref.kind.kind} {ref.name} is being deleted"
    await client.patch(ref, _patch(action, text, clock))
    done = {
        "patch": "was changed",
        "suspend": "is suspended",
        "resume": "is no longer suspended",
        "requeue": "gets a pass now",
    }
    return f"{ref.kind.kind} {ref.name} {done[action]}"


def _patch(action: str, text: str, clock: Clock) -> Json:
    if action == "suspend":
        return {"metadata": {"labels": {SUSPEND: "true"}}}
    if action == "resume":
        return {"metadata": {"labels": {SUSPEND: None}}}
    if action == "requeue":
        return {"metadata": {"annotations": {REQUESTED_AT: clock.now().isoformat()}}}
    if action == "patch":
        return {"spec": _spec(text)}
    raise UsageError(f"{action!r} is not an action.\n  fix: use one of {', '.join(ACTIONS)}")


def _spec(text: str) -> Any:
    try:
        spec = orjson.loads(text)
    except ValueError as error:
        raise UsageError(
            f"the spec is not JSON: {error}.\n  fix: correct it and try again"
        ) from None
    if not isinstance(spec, dict):
        raise UsageError("the spec is not a JSON object.\n  fix: write {…}")
    return spec
