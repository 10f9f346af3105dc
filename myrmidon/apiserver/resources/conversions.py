"""Conversion of custom objects between versions by a webhook: what is asked, and what is accepted.

A definition with several versions and the conversion strategy ``Webhook`` is converted by the program that
defines it.  The rules are those of the real server, with its messages:

- One review for each object.  The answer must have the uid of the question, one object, its kind, name,
  namespace and uid, and the wanted apiVersion.
- Only labels and annotations of the metadata can change; changes of other metadata are dropped in silence.
- Any failure is a 500 for the request that needed the object, also for a list of which it is one of many.

There are two ways to the webhook.  ``local`` holds functions of the same process, by resource: the test harness
and ``myrmidon dev`` put the declared conversions there, so that nothing waits and virtual time works.  Otherwise
the request stops with ``ConversionNeeded``; its front calls the webhook over HTTP, passes the reply to ``learn``,
and runs the request again.  Replies are kept by the content of the object, at most ``KEPT_MAX`` of them.
"""

from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256
from typing import Any, NamedTuple, TypeAlias

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.golang import json as go_json
from myrmidon.apiserver.golang.text import quote
from myrmidon.apiserver.golang.types import go_type
from myrmidon.apiserver.refusals.failures import Failure, StatusCause
from myrmidon.apiserver.resources.metadata import annotation_causes, label_causes
from myrmidon.apiserver.schema.defaulting import copy_json

KEPT_MAX = 10_000
SECONDS_MAX = 30  # the real server waits as long for a conversion
_KIND, _VERSION = "ConversionReview", "apiextensions.k8s.io/v1"

ReviewFunction: TypeAlias = Callable[[Json], Json]


class ConvertedResource(NamedTuple):
    """A resource whose versions a webhook converts: its name, and the webhook's clientConfig."""

    resource: str
    client: Json


class ConversionNeeded(Exception):  # noqa: N818 - a question, not an error
    """Stops a request until the webhook has converted these objects."""

    def __init__(self, webhook: ConvertedResource, api_version: str, objects: list[Json]) -> None:
        super().__init__(webhook.resource)
        self.webhook, self.api_version, self.objects = webhook, api_version, objects


class Conversions:
    """The functions of this process that convert, and the replies of webhooks."""

    def __init__(self) -> None:
        self.local: dict[str, ReviewFunction] = {}
        self._kept: dict[str, Json] = {}

    def convert(self, webhook: ConvertedResource, obj: Json, api_version: str) -> Json:
        """Return an object in another version; raise ``Failure`` or ``ConversionNeeded``."""
        version = obj["metadata"].get("resourceVersion")
        converted = self._convert(webhook, unversioned(obj), api_version)
        if version:
            converted["metadata"]["resourceVersion"] = version
        return converted

    def _convert(self, webhook: ConvertedResource, obj: Json, api_version: str) -> Json:
        review = self.local.get(webhook.resource)
        if review is not None:
            asked = review_of(obj, api_version)
            return accepted(obj, asked, review(asked))
        known = self._kept.get(_key(webhook, obj, api_version))
        if known is None:
            raise ConversionNeeded(webhook, api_version, [obj])
        converted: Json = copy_json(known)
        return converted

    def need(self, webhook: ConvertedResource, objects: Iterable[Json], api_version: str) -> None:
        """Raise ``ConversionNeeded`` for all objects that are not known, so that they come at once."""
        if webhook.resource not in self.local:
            unknown = [
                obj
                for obj in map(unversioned, objects)
                if _key(webhook, obj, api_version) not in self._kept
            ]
            if unknown:
                raise ConversionNeeded(webhook, api_version, unknown)

    def learn(self, needed: ConversionNeeded, replies: Iterable[Json]) -> None:
        """Keep the replies to the reviews of a question, in its order; raise ``Failure`` for a bad one."""
        webhook, api_version = needed.webhook, needed.api_version
        older = list(self._kept)
        for obj, reply in zip(needed.objects, replies, strict=True):
            asked = review_of(obj, api_version)
            self._kept[_key(webhook, obj, api_version)] = accepted(obj, asked, reply)
        for key in older[: max(len(self._kept) - KEPT_MAX, 0)]:
            del self._kept[key]


def unversioned(obj: Json) -> Json:
    """Return an object without its resourceVersion, which a webhook does not see.

    So the reply for an object that is about to be written is known when it has been written.
    """
    metadata = {key: obj["metadata"][key] for key in obj["metadata"] if key != "resourceVersion"}
    return {**obj, "metadata": metadata}


def review_of(obj: Json, api_version: str) -> Json:
    """Return the question to a webhook."""
    uid = sha256(go_json.encode([obj, api_version])).hexdigest()[:32]
    request = {"uid": uid, "desiredAPIVersion": api_version, "objects": [obj]}
    return {"kind": _KIND, "apiVersion": _VERSION, "request": request}


def accepted(obj: Json, asked: Json, reply: Any) -> Json:
    """Return the converted object of a reply, with the metadata that a conversion cannot change.

    Raise a ``Failure`` with the message of the real server for a reply that it would not accept.
    """
    wanted = asked["request"]["desiredAPIVersion"]
    made = _only_object(obj, asked, reply)
    said = str(made.get("apiVersion") or "")
    if said != wanted:
        problem = f"invalid groupVersion (expected {wanted}, received {said})"
        raise _failure(obj, f"returned invalid object at index 0: {problem}")
    if made.get("kind") != obj["kind"]:
        problem = f"invalid kind (expected {obj['kind']}, received {made.get('kind')})"
        raise _failure(obj, f"returned invalid object at index 0: {problem}")
    metadata = made.get("metadata")
    _check_identity(obj, metadata if isinstance(metadata, dict) else {})
    return {**made, "metadata": _metadata(obj, made["metadata"])}


def _only_object(obj: Json, asked: Json, reply: Any) -> Json:
    response = _response(obj, asked["request"]["uid"], reply)
    objects = response.get("convertedObjects") or []
    if len(objects) != 1:
        raise _failure(obj, f"returned {len(objects)} objects, expected 1")
    if not isinstance(objects[0], dict):
        raise _failure(obj, f"failed: cannot unmarshal {go_type(objects[0])} into an object")
    return objects[0]


def _response(obj: Json, uid: str, reply: Any) -> Mapping[str, Any]:
    if not isinstance(reply, Mapping):
        raise _failure(obj, "failed: couldn't get version/kind; json parse error")
    if reply.get("error"):
        raise _failure(obj, f"failed: {reply['error']}")
    if reply.get("kind") != _KIND:
        kind = quote(str(reply.get("kind") or ""))
        where = f'version "{reply.get("apiVersion")}" in scheme "pkg/runtime/scheme.go:111"'
        raise _failure(obj, f"failed: no kind {kind} is registered for {where}")
    if reply.get("apiVersion") != _VERSION:
        version = str(reply.get("apiVersion")).rpartition("/")[2]
        problem = f"converting ({version}.{_KIND}) to (v1.{_KIND}): unknown conversion"
        raise _failure(obj, f"failed: {problem}")
    response = reply.get("response")
    if not isinstance(response, Mapping):
        raise _failure(obj, "failed: no response provided")
    if response.get("uid") != uid:
        got = quote(str(response.get("uid") or ""))
        raise _failure(obj, f"failed: expected response.uid={quote(uid)}, got {got}")
    result = response.get("result") or {}
    if result.get("status") != "Success":
        status = result.get("status") or ""
        problem = result.get("message") or f"response.result.status was '{status}', not 'Success'"
        raise _failure(obj, f"failed: {problem}")
    return response


def _check_identity(obj: Json, metadata: Json) -> None:
    for field, said in (("name", "name"), ("namespace", "namespace"), ("uid", "UID")):
        before, after = obj["metadata"].get(field) or "", metadata.get(field) or ""
        if before != after:
            raise _failure(
                obj, f"returned invalid object: must have the same {said}: {before} != {after}"
            )


def _metadata(obj: Json, said: Json) -> Json:
    """Return the metadata of the object with the labels and annotations of the reply."""
    made: Json = copy_json(obj["metadata"])
    for part, check in (("labels", label_causes), ("annotations", annotation_causes)):
        given = said.get(part)
        if given is None:
            made.pop(part, None)
            continue
        if not isinstance(given, dict):
            problem = f"invalid metadata.{part} of type {go_type(given)} in converted object"
            raise _failure(obj, f"returned invalid metadata: {problem}")
        for key, value in given.items():
            if not isinstance(value, str):
                problem = f"must be a string, but is {go_type(value)} in converted object"
                raise _failure(obj, f"returned invalid metadata: metadata.{part}[{key}] {problem}")
        if given != (made.get(part) or {}):
            _refuse(
                obj, check(given, "metadata.labels" if part == "labels" else "metadata.annotation")
            )
        made[part] = given
    return made


def _refuse(obj: Json, causes: list[StatusCause]) -> None:
    texts = [f"{cause.field}: {cause.message}" for cause in causes]
    if texts:
        said = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
        raise _failure(obj, f"returned invalid metadata: {said}")


def _failure(obj: Json, problem: str) -> Failure:
    text = f"conversion webhook for {obj['apiVersion']}, Kind={obj['kind']} {problem}"
    return Failure(500, "", text, details=False)


def _key(webhook: ConvertedResource, obj: Json, api_version: str) -> str:
    return sha256(go_json.encode([webhook.resource, webhook.client, obj, api_version])).hexdigest()
