"""Choose the form of a response: JSON, YAML or protobuf, and the object, its metadata, or a table."""

import json
from typing import Any, NamedTuple

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.golang import json as go_json
from myrmidon.apiserver.refusals.failures import Failure, internal

_PROTOBUF = "application/vnd.kubernetes.protobuf"
_MEDIA = {
    "application/json": "json",
    "application/yaml": "yaml",
    _PROTOBUF: "protobuf",
    "*/*": "json",
}
ACCEPTED = f"application/json, application/yaml, {_PROTOBUF}"
_REPRESENTATIONS = f"{ACCEPTED}, application/json;stream=watch, {_PROTOBUF};stream=watch"


class Form(NamedTuple):
    """The form of a response."""

    media: str = "json"
    shape: str = ""  # Table, PartialObjectMetadata(List), or "" for the object itself
    version: str = "v1"

    @property
    def content_type(self) -> str:
        """The media type of the response."""
        return _PROTOBUF if self.media == "protobuf" else f"application/{self.media}"


PLAIN = Form()


def negotiate(accept: str, verb: str, *, custom: bool, stored: bool = True) -> Form:
    """Return the first form in the Accept header that the server supports; raise a 406.

    Objects that are not ``stored``, such as reviews, have neither tables nor metadata of their own.
    """
    if not accept or accept in {"application/json", "*/*"}:
        return PLAIN
    known = False
    for part in accept.split(","):
        media, *parameters = (piece.strip() for piece in part.split(";"))
        syntax = _MEDIA.get(media.lower())
        known = known or syntax is not None
        if syntax is None or (verb == "watch" and syntax == "yaml"):
            continue
        options = dict(piece.partition("=")[::2] for piece in parameters)
        shape = options.get("as", "")
        if syntax == "protobuf" and (shape == "Table" or (custom and not shape)):
            continue  # messages exist for built-in kinds and for metadata only
        if shape and (not stored or not _fits(shape, options, verb)):
            if shape == "PartialObjectMetadataList" and custom:
                raise internal("content is not a list")
            continue
        return Form(syntax, shape, options.get("v", "v1"))
    raise not_acceptable("" if custom or known else _REPRESENTATIONS)


def not_acceptable(available: str = "") -> Failure:
    """Return the 406 for an Accept header without any supported media type.

    ``available`` is given if none of the media types is known at all, which other code of the real
    server finds.
    """
    if available:
        text = f"406: Not Acceptable\n\nAvailable representations: {available}"
    else:
        text = f"only the following media types are accepted: {ACCEPTED}"
    return Failure(406, "NotAcceptable", text, details=bool(available))


def _fits(shape: str, options: dict[str, str], verb: str) -> bool:
    """Whether the verb supports a shape: a list shape for lists, an object shape for objects."""
    if options.get("g") != "meta.k8s.io" or options.get("v") not in {"v1", "v1beta1"}:
        return False
    if verb == "watch":
        return shape in {"Table", "PartialObjectMetadata", "PartialObjectMetadataList"}
    lists = verb in {"list", "deletecollection"}
    return shape in {"Table", "PartialObjectMetadataList" if lists else "PartialObjectMetadata"}


def failure_form(accept: str) -> Form:
    """Return the form of an error response: the first known media type of a plain object."""
    if accept == "application/json":
        return PLAIN
    for part in accept.split(","):
        media, _, parameters = part.partition(";")
        syntax = _MEDIA.get(media.strip().lower())
        if syntax is not None and "as=" not in parameters:
            return Form(syntax)
    return PLAIN


def render(form: Form, body: bytes) -> bytes:
    """Return a JSON body in the media type of the form."""
    if form.media == "json":
        return body
    if form.media == "protobuf":
        from myrmidon.apiserver.wire import protobuf  # noqa: PLC0415 - only Go's clients want it

        return protobuf.encode(json.loads(body))
    import yaml  # noqa: PLC0415 - rarely needed, and slow to import

    text: str = yaml.safe_dump(json.loads(body), default_flow_style=False, allow_unicode=True)
    return text.encode()


def encode(form: Form, obj: Any) -> bytes:
    """Return an object in the media type of the form."""
    return render(form, go_json.encode(obj))


def partial(form: Form, obj: Json) -> Json:
    """Return only the metadata of an object (PartialObjectMetadata)."""
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": f"meta.k8s.io/{form.version}",
        "metadata": obj["metadata"],
    }


def at_version(form: Form, table: Json) -> Json:
    """Return a table in the requested version; the versions differ only in apiVersion."""
    if form.version == "v1":
        return table
    api_version = f"meta.k8s.io/{form.version}"
    rows = [
        {**row, "object": row["object"] and {**row["object"], "apiVersion": api_version}}
        for row in table["rows"]
    ]
    return {**table, "apiVersion": api_version, "rows": rows}
