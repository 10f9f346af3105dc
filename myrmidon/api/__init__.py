"""The Kubernetes data model: names, objects, conditions, requests, typed resources.  Plain values, no I/O."""

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
from myrmidon.api.objects import Json
from myrmidon.api.quantities import Base64, Duration, IntOrString, Quantity
from myrmidon.api.refs import Kind, ObjectRef
from myrmidon.api.requests import Patch, Request, Verb
from myrmidon.api.resource import Resource, status_patch
from myrmidon.api.selectors import Requirement, Selector
from myrmidon.api.status import Status
from myrmidon.api.wire import HttpRequest, HttpResponse, ResponseStream, Transport

__all__ = [
    "AtomicMap",
    "Base64",
    "Column",
    "Condition",
    "ConditionStatus",
    "ConditionValue",
    "Duration",
    "Embedded",
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
