"""What form an answer takes: JSON or YAML, and the object, its metadata alone, or a table."""

import json
from typing import Any, NamedTuple

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.failures import Failure, internal
from myrmidon.apiserver.golang import json as go_json

_MEDIA = {
    "application/json": "json",
    "application/yaml": "yaml",
    "*/*": "json",
}


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


def negotiate(accept: str, verb: str, *, custom: bool) -> Form:
    """The first form of the header that can be served; raises 406."""
    if not accept or accept in {"application/json", "*/*"}:
        return PLAIN
    known = False
    for part in accept.split(","):
        media, *parameters = (piece.strip() for piece in part.split(";"))
        syntax = _MEDIA.get(media.lower())
        known = known or syntax is not None
        if syntax is None or (verb == "watch" and syntax != "json"):
            continue
        options = dict(piece.partition("=")[::2] for piece in parameters)
        shape = options.get("as", "")
        if shape and not _fits(shape, options, verb):
            if shape == "PartialObjectMetadataList" and custom:
                raise internal("content is not a list")
            continue
        return Form(syntax, shape, options.get("v", "v1"))
    raise not_acceptable(details=not custom and not known)


def not_acceptable(*, details: bool) -> Failure:
    """406: the client reads nothing that the server can write."""
    return Failure(
        406,
        "NotAcceptable",
        "only the following media types are accepted: application/json, application/yaml",
        details=details,
    )


def _fits(shape: str, options: dict[str, str], verb: str) -> bool:
    """Whether objects can be shown in another shape: a list as a list, one object as one."""
    if options.get("g") != "meta.k8s.io" or options.get("v") not in {"v1", "v1beta1"}:
        return False
    if verb == "watch":
        return shape in {"Table", "PartialObjectMetadata", "PartialObjectMetadataList"}
    lists = verb in {"list", "deletecollection"}
    return shape in {"Table", "PartialObjectMetadataList" if lists else "PartialObjectMetadata"}


def reads_yaml(accept: str) -> bool:
    """Whether failures, too, are wanted as YAML."""
    for part in accept.split(","):
        media = part.partition(";")[0].strip().lower()
        if media in _MEDIA:
            return _MEDIA[media] == "yaml"
    return False


def render(form: Form, body: bytes) -> bytes:
    """JSON in the form's media type."""
    if form.media == "json":
        return body
    import yaml  # noqa: PLC0415 - few answers need it, and it is slow to load

    text: str = yaml.safe_dump(json.loads(body), default_flow_style=False, allow_unicode=True)
    return text.encode()


def encode(form: Form, obj: Any) -> bytes:
    """An object in the form's media type."""
    return render(form, go_json.encode(obj))


def partial(form: Form, obj: Json) -> Json:
    """The metadata of an object alone."""
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": f"meta.k8s.io/{form.version}",
        "metadata": obj["metadata"],
    }


def at_version(form: Form, table: Json) -> Json:
    """A table in the version that is asked for, which differs in its name alone."""
    if form.version == "v1":
        return table
    api_version = f"meta.k8s.io/{form.version}"
    rows = [
        {**row, "object": row["object"] and {**row["object"], "apiVersion": api_version}}
        for row in table["rows"]
    ]
    return {**table, "apiVersion": api_version, "rows": rows}
