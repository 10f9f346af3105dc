"""Webhooks of the controllers under test, called in the process.

The webhook configurations are installed on the embedded server as in a cluster, so rules, selectors
and conditions count.  Only the way is shorter: instead of an HTTPS request, the server calls the
manager of the controllers.  A manager that has crashed, or has not started, is a webhook that cannot
be reached, and the failure policy decides.

Rules in CEL (``Admission(..., rules=[...])``) are installed as admission policies, which the server
evaluates itself.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.fronts.webhook_client import ask
from myrmidon.generate.manifests.webhooks import policy
from myrmidon.runtime.webhooks.dispatch import WebhookDispatch
from myrmidon.webhooks.admission.configurations import configurations
from myrmidon.webhooks.admission.rules import Admission
from myrmidon.webhooks.admission.webhooks import Subject, webhooks_of

NAME = "in-process"
_BASE = f"https://webhooks.{NAME}"
_SECONDS_DEFAULT = 10


def in_process_configurations(subjects: Iterable[Subject]) -> list[Json]:
    """Return the webhook configurations for the validators and defaults of these classes."""
    webhooks = [each for subject in subjects for each in webhooks_of(subject)]
    return configurations(webhooks, NAME, lambda each: {"url": f"{_BASE}{each.path}"})


def in_process_policies(subjects: Iterable[Subject]) -> list[Json]:
    """Return the admission policies, with their bindings, for the CEL rules of these classes."""
    classes = dict.fromkeys(each if isinstance(each, type) else type(each) for each in subjects)
    return [made for each in classes if issubclass(each, Admission) for made in policy(each)]


def asking(
    dispatch: Callable[[], WebhookDispatch | None],
) -> Callable[[Mapping[str, Any]], Awaitable[Any]]:
    """Return the function that calls a webhook of the process that runs at that moment.

    ``dispatch`` returns None if no process is there to answer.  Webhooks at other addresses are
    called over HTTP.
    """

    async def ask_in_process(question: Mapping[str, Any]) -> Any:
        webhook = question["webhook"]
        url = urlsplit((webhook.get("clientConfig") or {}).get("url") or "")
        if f"{url.scheme}://{url.netloc}" != _BASE:
            return await ask(question)
        seconds = webhook.get("timeoutSeconds") or _SECONDS_DEFAULT
        running = dispatch()
        said = f'Post "{url.geturl()}?timeout={seconds}s"'
        if running is None:
            return {"error": f"{said}: dial tcp: connect: connection refused"}
        try:
            async with asyncio.timeout(seconds):
                code, answer = await running.answer(url.path, question["review"])
        except TimeoutError:
            return {"error": f"{said}: context deadline exceeded"}
        return answer if code == 200 else {"error": f"{said}: {answer['message']}"}

    return ask_in_process
