"""Validation of ConfigMaps and Secrets."""

import re
from base64 import b64decode
from collections.abc import Iterator
from typing import Any

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.builtin.validation.common import unchanged
from myrmidon.apiserver.refusals.causes import forbidden, invalid, required, too_long
from myrmidon.apiserver.refusals.failures import StatusCause

SIZE_BYTES_MAX = 1024 * 1024
_KEY = re.compile(r"[-._a-zA-Z0-9]+")
_KEY_BYTES_MAX = 253
_FROZEN = "field is immutable when `immutable` is set"

# The keys that Secrets of a type must have.
_KEYS_OF_TYPES = {
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
}
_BASIC_AUTH = "kubernetes.io/basic-auth"
_ACCOUNT_TOKEN = "kubernetes.io/service-account-token"  # noqa: S105 - the name of a type
_ACCOUNT_NAME = "kubernetes.io/service-account.name"


def check_config_map(config_map: Json) -> Iterator[StatusCause]:
    """Check the keys, that ``data`` and ``binaryData`` share none, and the total size."""
    size = 0
    binary = config_map.get("binaryData", {})
    for key, text in sorted(config_map.get("data", {}).items()):
        yield from check_key(f"data[{key}]", key)
        if key in binary:
            yield invalid(f"data[{key}]", key, "duplicate of key present in binaryData")
        size += len(text.encode())
    for key, encoded in sorted(binary.items()):
        yield from check_key(f"binaryData[{key}]", key)
        size += _decoded_size(encoded)
    if size > SIZE_BYTES_MAX:
        yield too_long("[]", SIZE_BYTES_MAX)


def check_config_map_change(new: Json, old: Json) -> Iterator[StatusCause]:
    """Check that an immutable ConfigMap does not change."""
    yield from _check_frozen(new, old, ("data", "binaryData"))


def check_secret(secret: Json) -> Iterator[StatusCause]:
    """Check the keys, the total size, and the keys that the type of the Secret requires."""
    data = secret.get("data", {})
    size = 0
    for key, encoded in sorted(data.items()):
        yield from check_key(f"data[{key}]", key)
        size += _decoded_size(encoded)
    if size > SIZE_BYTES_MAX:
        yield too_long("data", SIZE_BYTES_MAX)
    yield from _check_type(secret, data)


def _check_type(secret: Json, data: Json) -> Iterator[StatusCause]:
    secret_type = secret.get("type", "")
    for key in _KEYS_OF_TYPES.get(secret_type, ()):
        if key not in data:
            yield required(f"data[{key}]")
    if secret_type == _BASIC_AUTH and not ({"username", "password"} & data.keys()):
        yield required("data[username]")
        yield required("data[password]")
    if secret_type == _ACCOUNT_TOKEN:
        annotations = secret.get("metadata", {}).get("annotations", {})
        if not annotations.get(_ACCOUNT_NAME):
            yield required(f"metadata.annotations[{_ACCOUNT_NAME}]")
    for name in (".dockercfg", ".dockerconfigjson"):
        if name in _KEYS_OF_TYPES.get(secret_type, ()) and name in data:
            yield from _check_json(f"data[{name}]", data[name])


def _check_json(field: str, encoded: str) -> Iterator[StatusCause]:
    text = b64decode(encoded).decode(errors="replace").strip()
    if not (text.startswith("{") and text.endswith("}")):
        yield invalid(field, "<secret contents redacted>", "invalid character")


def check_secret_change(new: Json, old: Json) -> Iterator[StatusCause]:
    """Check that the type of a Secret does not change, and an immutable Secret not at all."""
    yield from unchanged("type", new.get("type", ""), old.get("type", ""))
    yield from _check_frozen(new, old, ("data",))


def _check_frozen(new: Json, old: Json, fields: tuple[str, ...]) -> Iterator[StatusCause]:
    if not old.get("immutable"):
        return
    if not new.get("immutable"):
        yield forbidden("immutable", _FROZEN)
    for field in fields:
        if _given(new, field) != _given(old, field):
            yield forbidden(field, _FROZEN)


def _given(obj: Json, field: str) -> Any:
    return obj.get(field) or {}


def check_key(at: str, key: str) -> Iterator[StatusCause]:
    """Check a key, which may be used as a file name in a volume."""
    if len(key) > _KEY_BYTES_MAX:
        yield invalid(at, key, f"must be no more than {_KEY_BYTES_MAX} bytes")
    if not _KEY.fullmatch(key):
        yield invalid(
            at,
            key,
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.' "
            "(e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is "
            "'[-._a-zA-Z0-9]+')",
        )
    if key == ".":
        yield invalid(at, key, "must not be '.'")
    elif key.startswith(".."):
        yield invalid(at, key, "must not be '..'" if key == ".." else "must not start with '..'")


def _decoded_size(encoded: str) -> int:
    return len(encoded) * 3 // 4 - encoded[-2:].count("=")
