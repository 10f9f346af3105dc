"""The Kubernetes data model: names, objects, requests.  Plain values, no I/O."""

from myrmidon.api.objects import Json
from myrmidon.api.refs import Kind, ObjectRef
from myrmidon.api.wire import HttpRequest, HttpResponse, ResponseStream, Transport

__all__ = [
    "HttpRequest",
    "HttpResponse",
    "Json",
    "Kind",
    "ObjectRef",
    "ResponseStream",
    "Transport",
]
