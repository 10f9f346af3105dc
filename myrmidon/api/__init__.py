"""The Kubernetes data model: names, objects, conditions, requests, typed resources.  No I/O.

Typed resources need pydantic; they are loaded on first use, because the embedded
server and the command line start without them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import Kind, ObjectRef
from myrmidon.api.requests.request import Patch, Request, Verb
from myrmidon.api.requests.selectors import Requirement, Selector
from myrmidon.api.requests.transport import HttpRequest, HttpResponse, ResponseStream, Transport

if TYPE_CHECKING:
    from myrmidon.api.objects.conditions import Condition, ConditionStatus, ConditionValue
    from myrmidon.api.typed.markers import (
        AtomicMap,
        Column,
        Embedded,
        ListMap,
        ListSet,
        OpenApi,
        PreserveUnknown,
        Rule,
        Scale,
    )
    from myrmidon.api.typed.model import Model
    from myrmidon.api.typed.ready_made_rules import Immutable, one_of
    from myrmidon.api.typed.resource import Resource, status_patch
    from myrmidon.api.typed.scalars import Base64, Duration, IntOrString, Quantity
    from myrmidon.api.typed.status import ExternalStatus, Status
    from myrmidon.api.typed.unstructured import Unstructured

_TYPED = {
    "AtomicMap": "myrmidon.api.typed.markers",
    "Base64": "myrmidon.api.typed.scalars",
    "Column": "myrmidon.api.typed.markers",
    "Condition": "myrmidon.api.objects.conditions",
    "ConditionStatus": "myrmidon.api.objects.conditions",
    "ConditionValue": "myrmidon.api.objects.conditions",
    "Duration": "myrmidon.api.typed.scalars",
    "Embedded": "myrmidon.api.typed.markers",
    "ExternalStatus": "myrmidon.api.typed.status",
    "Immutable": "myrmidon.api.typed.ready_made_rules",
    "IntOrString": "myrmidon.api.typed.scalars",
    "ListMap": "myrmidon.api.typed.markers",
    "ListSet": "myrmidon.api.typed.markers",
    "Model": "myrmidon.api.typed.model",
    "OpenApi": "myrmidon.api.typed.markers",
    "PreserveUnknown": "myrmidon.api.typed.markers",
    "Quantity": "myrmidon.api.typed.scalars",
    "Resource": "myrmidon.api.typed.resource",
    "Rule": "myrmidon.api.typed.markers",
    "Scale": "myrmidon.api.typed.markers",
    "Status": "myrmidon.api.typed.status",
    "Unstructured": "myrmidon.api.typed.unstructured",
    "one_of": "myrmidon.api.typed.ready_made_rules",
    "status_patch": "myrmidon.api.typed.resource",
}


def __getattr__(name: str) -> Any:
    if name not in _TYPED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_TYPED[name]), name)


__all__ = [
    "AtomicMap",
    "Base64",
    "Column",
    "Condition",
    "ConditionStatus",
    "ConditionValue",
    "Duration",
    "Embedded",
    "ExternalStatus",
    "HttpRequest",
    "HttpResponse",
    "Immutable",
    "IntOrString",
    "Json",
    "Kind",
    "ListMap",
    "ListSet",
    "Model",
    "ObjectRef",
    "OpenApi",
    "Patch",
    "PreserveUnknown",
    "Quantity",
    "Request",
    "Requirement",
    "Resource",
    "ResponseStream",
    "Rule",
    "Scale",
    "Selector",
    "Status",
    "Transport",
    "Unstructured",
    "Verb",
    "one_of",
    "status_patch",
]
