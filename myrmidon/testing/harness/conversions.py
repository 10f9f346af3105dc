"""Declared conversions between versions, called in the process.

The embedded server calls the functions of the classes directly instead of a webhook.  They are plain functions, so
nothing waits, and tests in virtual time need no server to be up.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from myrmidon.api.objects.refs import Kind
from myrmidon.apiserver.server import ApiServer
from myrmidon.fsm.controller import Controller
from myrmidon.runtime.webhooks.conversion import converted_resources
from myrmidon.webhooks.versions import Converter, versions_of


def convert_in_process(server: ApiServer, controllers: Iterable[type[Controller[Any]]]) -> None:
    """Let a server convert the kinds of the controllers; call it before their definitions are created."""
    convert_resources(server, converted_resources(controllers))


def kinds_of_versions(controller: Controller[Any]) -> list[Kind]:
    """Return the kinds in all versions that a controller uses objects of."""
    hubs = converted_resources([type(controller)])
    return [each.KIND for hub in hubs for each in versions_of(hub).values()]


def convert_resources(server: ApiServer, resources: Iterable[Any]) -> None:
    """Let a server convert objects of these kinds between their versions."""
    for resource in resources:
        name = f"{resource.KIND.plural}.{resource.KIND.group}"
        server.convert_with(
            name, _converter(resource, tuple(versions_of(resource).values())).review
        )


@lru_cache(maxsize=64)
def _converter(hub: Any, versions: tuple[Any, ...]) -> Converter:  # noqa: ARG001 - a part of the key
    """Return the converter of a kind, the same for all tests: servers share what they compile for it."""
    return Converter([hub])
