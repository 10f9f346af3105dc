"""What form an answer takes: JSON or YAML, and the object, its metadata alone, or a table."""

import json
from typing import Any, NamedTuple

from myrmidon.api.objects import Json
from myrmidon.apiserver import encoding
from myrmidon.apiserver.failures import Failure

_MEDIA = {
    "application/json": "json",
    "application/yaml": "yaml",
    "*/*": "json",
    "application/*": "json",
}
_FORMS = frozenset({"Table", "PartialObjectMetadata", "PartialObjectMetadataList"})


class Form(NamedTuple):
    """The form that a client wants."""

    media: str = "json"
    shape: str = ""  # Table, PartialObjectMetadata, PartialObjectMetadataList, or the object itself
    version: str = "v1"

    @property
    def content_type(self) -> str:
        """The media type of the answer."""
        return f"application/{self.media}"


PLAIN = Form()


def negotiate(accept: str, *, streams: bool = False) -> Form:
    """The first form of the header that can be served; raises 406."""
    if not accept or accept in {"application/json", "*/*"}:
        return PLAIN
    for part in accept.split(","):
        media, *parameters = (piece.strip() for piece in part.split(";"))
        if media.lower() not in _MEDIA:
            continue
        options = dict(piece.partition("=")[::2] for piece in parameters)
        shape = options.get("as", "")
        if shape and (
            shape not in _FORMS
            or options.get("g") != "meta.k8s.io"
            or options.get("v") not in {"v1", "v1beta1"}
        ):
            continue
        if streams and _MEDIA[media.lower()] != "json":
            continue
        return Form(_MEDIA[media.lower()], shape, options.get("v", "v1"))
    raise Failure(
        406,
        "NotAcceptable",
        "only the following media types are accepted: application/json, application/yaml",
    )


def render(form: Form, body: bytes) -> bytes:
    """JSON in the form's media type."""
    if form.media == "json":
        return body
    import yaml  # noqa: PLC0415 - few answers need it, and it is slow to load

    text: str = yaml.safe_dump(json.loads(body), default_flow_style=False, allow_unicode=True)
    return text.encode()


def encode(form: Form, obj: Any) -> bytes:
    """An object in the form's media type."""
    return render(form, encoding.encode(obj))


def partial(form: Form, obj: Json) -> Json:
    """The metadata of an object alone."""
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": f"meta.k8s.io/{form.version}",
        "metadata": obj["metadata"],
    }
