"""Where the API server keeps the CA bundle of our webhooks: reads it, and what to write there.

A bundle stands in each ``clientConfig``: of the webhooks in a webhook configuration, and of the
conversion in a CustomResourceDefinition.
"""

from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from myrmidon.api.objects.accessors import Json


def client_configs(obj: Json) -> Iterator[Json]:
    """Yield each ``clientConfig`` of a webhook configuration or a CustomResourceDefinition."""
    found: list[Any] = [each.get("clientConfig") for each in obj.get("webhooks") or ()]
    conversion = ((obj.get("spec") or {}).get("conversion") or {}).get("webhook") or {}
    found.append(conversion.get("clientConfig"))
    yield from (each for each in found if isinstance(each, dict))


def bundles_of(obj: Json) -> list[bytes]:
    """Return the CA bundle of each ``clientConfig``; empty bytes for one that has none."""
    return [_decoded(each.get("caBundle")) for each in client_configs(obj)]


def with_bundle(obj: Json, bundle: bytes) -> Json | None:
    """Return the object with this bundle everywhere; None if it has it already."""
    wanted = b64encode(bundle).decode()
    if all(each.get("caBundle") == wanted for each in client_configs(obj)):
        return None
    changed = deepcopy(obj)
    for each in client_configs(changed):
        each["caBundle"] = wanted
    return changed


def _decoded(text: Any) -> bytes:
    try:
        return b64decode(text or "")
    except (Base64Error, ValueError, TypeError):
        return b""
