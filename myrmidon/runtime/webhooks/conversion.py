"""The conversion webhook: answers ConversionReviews for the kinds of the controllers.

``versions`` decides; this module reports what failed.  Long reviews are answered in parts, so that the event loop
serves leases and probes in between.
"""

from collections.abc import Iterable
from functools import partial
from typing import Any

from myrmidon.api.objects.accessors import Json
from myrmidon.api.typed.hubs import hub_of
from myrmidon.api.typed.object_types import is_defined_here
from myrmidon.fsm.controller import Controller
from myrmidon.fsm.declaration.shapes import Manages, Reads
from myrmidon.io.timers.pacing import pacer
from myrmidon.runtime.logs import Logger
from myrmidon.runtime.metrics.webhooks import WebhookMetrics
from myrmidon.runtime.webhooks.dispatch import Handler
from myrmidon.webhooks.versions import CONVERT_PATH, Converter, versions_of
from myrmidon.webhooks.versions.review import Judged


def conversion_handlers(
    controllers: Iterable[type[Controller[Any]]], metrics: WebhookMetrics, log: Logger
) -> dict[str, Handler]:
    """Return the handler of the conversion webhook, by its path; empty if no kind has versions."""
    hubs = converted_resources(controllers)
    if not hubs:
        return {}
    return {CONVERT_PATH: partial(_convert, Converter(hubs), metrics, log)}


def converted_resources(controllers: Iterable[type[Controller[Any]]]) -> list[Any]:
    """Return the hubs of the kinds that the controllers use, if these have several versions."""
    found: dict[Any, None] = {}
    for controller in controllers:
        for entry in (controller.resource, *controller.manages, *controller.reads):
            listed: Any = entry.kind if isinstance(entry, Manages | Reads) else entry
            if is_defined_here(listed) and len(versions_of(listed)) > 1:
                found[hub_of(listed)] = None
    return list(found)


async def _convert(
    converter: Converter, metrics: WebhookMetrics, log: Logger, review: Json
) -> Json:
    judged = await _judged(converter, review)
    for problem in judged.problems:
        metrics.conversion_panics.labels().inc()
        log.warning("an object could not be converted", problem=problem)
    return judged.answer


async def _judged(converter: Converter, review: Json) -> Judged:
    steps = converter.judging(review)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            judged: Judged = end.value
            return judged
        await pacer().give_way()
