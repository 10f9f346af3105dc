"""Validation of the conversion between versions: none, or by a webhook."""

from typing import Any
from urllib.parse import urlsplit

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.refusals import causes, names
from myrmidon.apiserver.refusals.failures import StatusCause

_REVIEW_VERSIONS = ("v1", "v1beta1")
_FORM = "; desired format: https://host[/path]"
_PORT_MAX = 65535


def check_conversion(conversion: Json, path: str) -> list[StatusCause]:
    """Return the errors in the settings of the strategy, which itself is already validated."""
    webhook = conversion.get("webhook") or {}
    client, reviews = webhook.get("clientConfig"), webhook.get("conversionReviewVersions") or []
    client_path, reviews_path = f"{path}.webhookClientConfig", f"{path}.conversionReviewVersions"
    if conversion.get("strategy") != "Webhook":
        detail = "should not be set when strategy is not set to Webhook"
        found = [causes.forbidden(client_path, detail)] if client is not None else []
        return found + ([causes.forbidden(reviews_path, detail)] if reviews else [])
    if client is None:
        found = [causes.required(client_path, "required when strategy is set to Webhook")]
    else:
        found = _check_client(client, client_path)
    return found + _check_reviews(reviews, reviews_path)


def _check_client(client: Json, path: str) -> list[StatusCause]:
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        return [causes.required(path, "exactly one of url or service is required")]
    if service is not None:
        return check_service(service, f"{path}.service")
    return check_url(str(url), f"{path}.url")


def check_url(url: str, path: str) -> list[StatusCause]:
    """Return the errors of a webhook's URL."""
    try:
        parts = urlsplit(url)
    except ValueError as error:
        return [causes.required(path, f"url must be a valid URL: {error}{_FORM}")]
    found: list[StatusCause] = []
    if parts.scheme != "https":
        detail = f"'https' is the only allowed URL scheme{_FORM}"
        found.append(causes.invalid(path, parts.scheme, detail))
    user, at, host = parts.netloc.rpartition("@")
    if not host:
        found.append(causes.invalid(path, "", f"host must be specified{_FORM}"))
    if at:
        found.append(causes.invalid(path, user, "user information is not permitted in the URL"))
    if parts.fragment:
        detail = "fragments are not permitted in the URL"
        found.append(causes.invalid(path, parts.fragment, detail))
    if parts.query:
        detail = "query parameters are not permitted in the URL"
        found.append(causes.invalid(path, parts.query, detail))
    return found


def check_service(service: Json, path: str) -> list[StatusCause]:
    """Return the errors of a webhook's service reference."""
    # The real server confuses these two: it reports the name if the namespace is missing.
    found = [
        causes.required(f"{path}.{told}")
        for told, asked in (("name", "namespace"), ("namespace", "name"))
        if not service.get(asked)
    ]
    port = service.get("port", 443)
    if not 1 <= port <= _PORT_MAX:
        detail = f"port is not valid: must be between 1 and {_PORT_MAX}, inclusive"
        found.append(causes.invalid(f"{path}.port", port, detail))
    return found + _check_path(service.get("path"), f"{path}.path")


def _check_path(given: Any, path: str) -> list[StatusCause]:
    if not given or given == "/":
        return []
    if given == "//":
        return [causes.invalid(path, given, "segment[0] may not be empty")]
    found: list[StatusCause] = []
    if not given.startswith("/"):
        found.append(causes.invalid(path, given, "must start with a '/'"))
    for index, segment in enumerate(given[1:].removesuffix("/").split("/")):
        broken = [f": {text}" for text in names.subdomain_problems(segment)]
        if not segment:
            broken = [" may not be empty"]
        found += [causes.invalid(path, given, f"segment[{index}]{text}") for text in broken]
    return found


def _check_reviews(versions: list[str], path: str) -> list[StatusCause]:
    if not versions:
        return [causes.required(path)]
    found: list[StatusCause] = []
    for index, version in enumerate(versions):
        if version in versions[:index]:
            found.append(causes.invalid(f"{path}[{index}]", version, "duplicate version"))
            continue
        found += [
            causes.invalid(f"{path}[{index}]", version, text)
            for text in names.label1035_problems(version)
        ]
    if not any(version in _REVIEW_VERSIONS for version in versions):
        detail = f"must include at least one of {', '.join(_REVIEW_VERSIONS)}"
        found.append(causes.invalid(path, versions, detail))
    return found
