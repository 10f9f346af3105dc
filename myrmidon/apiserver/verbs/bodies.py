"""Read the body of a request: media type, JSON, YAML or protobuf, and the type it claims to be.

The errors are those of the real server, in its order: media type (415), size (413), syntax, kind
and apiVersion, decoding, and with ``fieldValidation=Strict`` unknown and duplicate fields (all
400).
"""

import json
import re
from collections.abc import Iterable
from typing import Any

from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import Kind
from myrmidon.apiserver.golang import json as go_json
from myrmidon.apiserver.golang.types import json_kind
from myrmidon.apiserver.refusals.failures import Failure, bad_request, unsupported_media_type
from myrmidon.apiserver.requests.call import Call
from myrmidon.apiserver.resources.strategy import DecodeError
from myrmidon.apiserver.wire import protobuf
from myrmidon.apiserver.wire.yaml import YamlSyntaxError, parse_yaml

BODY_BYTES_MAX = 3 * 1024 * 1024
_EXCERPT_BYTES = 30
_JSON, _YAML = "application/json", "application/yaml"
_OBJECT_TYPES = (_JSON, _YAML, protobuf.MEDIA_TYPE, "application/cbor")


_PARAMETERS = re.compile(r"(?:\s*+;\s*+[^\s;=]++=(?:\"[^\"]*\"|[^\s;=\"]++))*+\s*+(?:;\s*+)?")


def media_type(call: Call) -> str:
    """Return the media type of the body without parameters; ``?`` if the header is malformed."""
    media, _, parameters = call.request.headers.get("content-type", "").partition(";")
    if parameters and _PARAMETERS.fullmatch(f";{parameters}") is None:
        return "?"
    return media.strip().lower()


def read_body(call: Call) -> bytes:
    """Return the body; raise a 413 if it is too large."""
    if len(call.request.body) > BODY_BYTES_MAX:
        raise Failure(
            413,
            "RequestEntityTooLarge",
            f"Request entity too large: limit is {BODY_BYTES_MAX}",
            details=False,
        )
    return call.request.body


def read_object(call: Call, wanted: Kind | None = None) -> tuple[Json, list[str]]:
    """Return the object of a POST or PUT, of the right type, and messages for duplicate fields.

    ``wanted`` is the kind of a body that is not of the resource's own kind, for example a Scale.
    """
    sent = read_object_type(call)
    text = read_body(call)
    expected = wanted or call.type.kind
    kind = expected.kind
    duplicates: list[str] = []
    try:
        body = parse(text, sent, duplicates)
    except YamlSyntaxError as error:
        excerpt = text[:_EXCERPT_BYTES].hex() + (" ..." if len(text) > _EXCERPT_BYTES else "")
        raise _unrecognized(kind, f"{error} ({excerpt})") from None
    except ValueError as error:
        raise _unrecognized(
            kind, f"couldn't get version/kind; json parse error: {_parse_problem(text, error)}"
        ) from None
    if body is None and not call.type.custom:
        body = {}  # Go decodes null as an empty struct
    if not isinstance(body, dict):
        raise _unrecognized(
            kind,
            "couldn't get version/kind; json parse error: json: cannot unmarshal "
            f'{json_kind(body)} into Go value of type struct {{ APIVersion string "json:\\"apiVersion,omitempty\\""; '
            'Kind string "json:\\"kind,omitempty\\"" }',
        )
    check_type(call, body, expected, strict=call.type.custom and wanted is None)
    if sent in {"", _JSON}:
        duplicates = duplicate_fields(text, body)
    return body, duplicates


def decode_object(call: Call) -> Json:
    """Return the object of the body, decoded, checked for unknown fields and with defaults."""
    body, duplicates = read_object(call)
    obj, unknown = decode_fields(call, body)
    problems = check_fields(call, unknown, duplicates)
    if problems:
        raise strict_failure(call, problems)
    call.type.strategy.default(obj)
    return obj


def decode_fields(call: Call, body: Json) -> tuple[Json, list[str]]:
    """Return the body as an object of the resource type, and its unknown fields; raise a 400."""
    try:
        return call.type.strategy.decode(body)
    except DecodeError as error:
        raise _decode_failure(call, error) from None


def read_object_type(call: Call) -> str:
    """Return the media type of a body that holds an object; raise a 415."""
    sent = media_type(call)
    if sent not in {"", _JSON, _YAML} and (sent != protobuf.MEDIA_TYPE or call.type.custom):
        raise _unsupported()
    return sent


def parse(text: bytes, sent: str, duplicates: list[str] | None = None) -> Any:
    """Return the parsed body; raise ``ValueError`` if it is malformed."""
    if sent == _YAML:
        return parse_yaml(text, duplicates)
    return protobuf.decode(text) if sent == protobuf.MEDIA_TYPE else go_json.decode(text)


def _parse_problem(text: bytes, error: Exception) -> str:
    if not text.strip():
        return "unexpected end of JSON input (<empty>)"
    return f"{error}"


def _unrecognized(kind: str, problem: str) -> Failure:
    return bad_request(f"the object provided is unrecognized (must be of type {kind}): {problem}")


def _unsupported() -> Failure:
    return unsupported_media_type(
        "the body of the request was in an unknown format - accepted media types include: "
        "application/json, application/yaml, application/vnd.kubernetes.protobuf"
    )


def check_type(call: Call, body: Json, wanted: Kind, *, strict: bool) -> None:
    """Check that ``apiVersion`` and ``kind`` are those of the path; raise a 400.

    They are optional for built-in kinds.  A custom resource of another kind passes this check: it
    is an invalid object (422), not a bad request.
    """
    for field in ("apiVersion", "kind"):
        if body.get(field) is not None and not isinstance(body[field], str):
            raise _unrecognized(
                wanted.kind,
                f"couldn't get version/kind; json parse error: json: cannot unmarshal {json_kind(body[field])} into Go struct field .{field} of type string",
            )
    api_version, kind = body.get("apiVersion") or "", body.get("kind") or ""
    if strict:
        if not kind:
            raise _unrecognized(wanted.kind, f"Object 'Kind' is missing in '{_excerpt(body)}'")
        if not api_version:
            raise _unrecognized(
                wanted.kind, f"Object 'apiVersion' is missing in '{_excerpt(body)}'"
            )
    else:
        api_version, kind = api_version or wanted.api_version, kind or wanted.kind
        if (api_version, kind) != (wanted.api_version, wanted.kind) and not _is_known(
            call, api_version, kind
        ):
            raise bad_request(
                f'no kind "{kind}" is registered for version "{api_version}" in scheme '
                '"pkg/api/legacyscheme/scheme.go:30"'
            )
        if kind != wanted.kind:
            raise bad_request(
                f'{kind} in version "{api_version.rpartition("/")[2]}" cannot be handled as a {wanted.kind}: converting '
                f"({kind}) to ({wanted.kind}): unknown conversion"
            )
    if api_version != wanted.api_version:
        raise bad_request(
            f"the API version in the data ({api_version}) does not match the expected API version "
            f"({wanted.api_version})"
        )


def _is_known(call: Call, api_version: str, kind: str) -> bool:
    group, _, version = api_version.rpartition("/")
    return call.core.registry.find_kind(group, version, kind) is not None


def _excerpt(body: Json) -> str:
    return go_json.encode(body)[:200].decode(errors="replace")


def _decode_failure(call: Call, error: DecodeError) -> Failure:
    """Return the 400 for a body that does not fit the type."""
    kind = call.type.kind
    return bad_request(
        f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: {error}'
    )


def duplicate_fields(text: bytes, body: Any) -> list[str]:
    """Return a message for each key that occurs twice in a JSON object of the body.

    A body as long as its compact encoding cannot have duplicates; for most bodies this is enough.
    """
    if len(text) == go_json.size_of(body):
        return []
    found: dict[str, None] = {}
    _walk(json.loads(go_json.as_unicode(text), object_pairs_hook=_Pairs), "", found)
    return [f'duplicate field "{path}"' for path in found]


class _Pairs(list[tuple[str, Any]]):
    """The members of a JSON object as pairs, including duplicate keys."""


def _walk(value: Any, path: str, found: dict[str, None]) -> None:
    if isinstance(value, _Pairs):
        seen: set[str] = set()
        for key, item in value:
            here = f"{path}.{key}" if path else key
            if key in seen:
                found[here] = None
            seen.add(key)
            _walk(item, here, found)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _walk(item, f"{path}[{index}]", found)


def check_fields(call: Call, unknown: Iterable[str], duplicates: Iterable[str]) -> list[str]:
    """Handle unknown and duplicate fields as ``fieldValidation`` says.

    Ignore: return nothing.  Warn: add warnings to the response.  Strict: return the problems.
    """
    if call.field_validation == "Ignore":
        return []
    problems = list(duplicates)
    problems += [f'unknown field "{path}"' for path in unknown]
    if len(problems) > 1 and not call.type.custom and media_type(call) in {"", _JSON}:
        problems = _in_document_order(call.request.body, problems)
    if call.field_validation == "Strict":
        return problems
    call.warn(*problems)
    return []


def _in_document_order(text: bytes, problems: list[str]) -> list[str]:
    """Return the problems of a built-in object in the order in which its decoder meets them.

    An unknown field is told once, and what is below it is not looked at.  Custom resources are
    checked for duplicates first, and keep that order.
    """
    found: dict[str, None] = {}
    members = json.loads(go_json.as_unicode(text), object_pairs_hook=_Pairs)
    _tell(members, "", frozenset(problems), found)
    return list(found)


def _tell(value: Any, path: str, problems: frozenset[str], found: dict[str, None]) -> None:
    if isinstance(value, _Pairs):
        seen: set[str] = set()
        for key, item in value:
            here = f"{path}.{key}" if path else key
            unknown, duplicate = f'unknown field "{here}"', f'duplicate field "{here}"'
            if unknown in problems:
                found[unknown] = None
                continue
            if key in seen and duplicate in problems:
                found[duplicate] = None
            seen.add(key)
            _tell(item, here, problems, found)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _tell(item, f"{path}[{index}]", problems, found)


def strict_failure(call: Call, problems: list[str]) -> Failure:
    """Return the 400 for a body that ``fieldValidation=Strict`` refuses."""
    kind = call.type.kind
    return bad_request(
        f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: strict decoding '
        f"error: {', '.join(problems)}"
    )
