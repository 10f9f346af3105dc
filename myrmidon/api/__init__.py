"""The Kubernetes data model: names, objects, conditions, requests.  Plain values, no I/O."""

from myrmidon.api.conditions import Condition, ConditionStatus, ConditionValue
from myrmidon.api.objects import Json
from myrmidon.api.refs import Kind, ObjectRef
from myrmidon.api.requests import Patch, Request, Verb
from myrmidon.api.selectors import Requirement, Selector
from myrmidon.api.wire import HttpRequest, HttpResponse, ResponseStream, Transport

__all__ = [
    "Condition",
    "ConditionStatus",
    "ConditionValue",
    "HttpRequest",
    "HttpResponse",
    "Json",
    "Kind",
    "ObjectRef",
    "Patch",
    "Request",
    "Requirement",
    "ResponseStream",
    "Selector",
    "Transport",
    "Verb",
]
