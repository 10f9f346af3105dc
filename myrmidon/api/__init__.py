"""The Kubernetes data model: names, objects, conditions, requests, typed resources.  No I/O.

Typed resources need pydantic; they are loaded on first use, because the embedded
server and the command line start without them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from myrmidon.api.objects import Json
from myrmidon.api.refs import Kind, ObjectRef
from myrmidon.api.requests import Patch, Request, Verb
from myrmidon.api.selectors import Requirement, Selector
from myrmidon.api.wire import HttpRequest, HttpResponse, ResponseStream, Transport

if TYPE_CHECKING:
    from myrmidon.api.conditions import Condition, ConditionStatus, ConditionValue
    from myrmidon.api.markers import (
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
    from myrmidon.api.model import Model
    from myrmidon.api.quantities import Base64, Duration, IntOrString, Quantity
    from myrmidon.api.resource import Resource, status_patch
    from myrmidon.api.status import ExternalStatus, Status

_TYPED = {
    "AtomicMap": "myrmidon.api.markers",
    "Base64": "myrmidon.api.quantities",
    "Column": "myrmidon.api.markers",
    "Condition": "myrmidon.api.conditions",
    "ConditionStatus": "myrmidon.api.conditions",
    "ConditionValue": "myrmidon.api.conditions",
    "Duration": "myrmidon.api.quantities",
    "Embedded": "myrmidon.api.markers",
    "ExternalStatus": "myrmidon.api.status",
    "IntOrString": "myrmidon.api.quantities",
    "ListMap": "myrmidon.api.markers",
    "ListSet": "myrmidon.api.markers",
    "Model": "myrmidon.api.model",
    "OpenApi": "myrmidon.api.markers",
    "PreserveUnknown": "myrmidon.api.markers",
    "Quantity": "myrmidon.api.quantities",
    "Resource": "myrmidon.api.resource",
    "Rule": "myrmidon.api.markers",
    "Scale": "myrmidon.api.markers",
    "Status": "myrmidon.api.status",
    "status_patch": "myrmidon.api.resource",
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
    "Verb",
    "status_patch",
]
