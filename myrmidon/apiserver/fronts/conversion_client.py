"""Call a conversion webhook over HTTP."""

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.admission.services import resolve
from myrmidon.apiserver.fronts.webhook_client import ask
from myrmidon.apiserver.refusals.failures import Failure
from myrmidon.apiserver.resources.conversions import (
    SECONDS_MAX,
    ConversionNeeded,
    review_of,
)
from myrmidon.apiserver.server import ApiServer


async def ask_to_convert(server: ApiServer, needed: ConversionNeeded) -> Failure | None:
    """Let a webhook convert objects, one after the other as the real server does.

    Return the failure of the first that cannot be converted.
    """
    question: Json = {
        "webhook": {"clientConfig": needed.webhook.client, "timeoutSeconds": SECONDS_MAX}
    }
    service = needed.webhook.client.get("service")
    if service is not None:
        question["service"] = resolve(server.store, service)
    for obj in needed.objects:
        one = ConversionNeeded(needed.webhook, needed.api_version, [obj])
        review = review_of(obj, needed.api_version)
        reply = await (server.webhook_client or ask)({**question, "review": review})
        try:
            server.core.conversions.learn(one, [reply])
        except Failure as failure:
            return failure
    return None
