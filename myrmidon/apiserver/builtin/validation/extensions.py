"""Validation of webhook configurations."""

from collections.abc import Iterator
from urllib.parse import urlsplit

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.builtin.validation.common import (
    choice,
    label_selector,
    problems,
    subdomain,
)
from myrmidon.apiserver.builtin.validation.expressions import check_conditions
from myrmidon.apiserver.refusals.causes import duplicate, invalid, required
from myrmidon.apiserver.refusals.failures import StatusCause
from myrmidon.apiserver.refusals.names import label1035_problems

_VERSIONS = ("v1", "v1beta1")
_OPERATIONS = ("*", "CREATE", "UPDATE", "DELETE", "CONNECT")
_SECONDS_MAX = 30


def check_webhooks(configuration: Json) -> Iterator[StatusCause]:
    """Check the webhooks of a configuration."""
    names: set[str] = set()
    for index, webhook in enumerate(configuration.get("webhooks", ())):
        field = f"webhooks[{index}]"
        name = webhook.get("name", "")
        yield from _check_name(f"{field}.name", name)
        if name in names:
            yield duplicate(f"{field}.name", name)
        names.add(name)
        yield from _check_webhook(field, webhook)


def _check_name(field: str, name: str) -> Iterator[StatusCause]:
    if not name:
        yield required(field)
        return
    wrong = list(subdomain(field, name))
    yield from wrong
    if not wrong and len(name.split(".")) < 3:
        yield invalid(
            field, name, "should be a domain with at least three segments separated by dots"
        )


def _check_webhook(field: str, webhook: Json) -> Iterator[StatusCause]:
    for index, rule in enumerate(webhook.get("rules", ())):
        yield from check_rule(f"{field}.rules[{index}]", rule)
    yield from choice(f"{field}.failurePolicy", webhook.get("failurePolicy"), ("Fail", "Ignore"))
    yield from choice(f"{field}.matchPolicy", webhook.get("matchPolicy"), ("Equivalent", "Exact"))
    effects = webhook.get("sideEffects")
    if effects is None:
        yield required(f"{field}.sideEffects", "must specify one of None, NoneOnDryRun")
    else:
        yield from choice(f"{field}.sideEffects", effects, ("None", "NoneOnDryRun"))
    seconds = webhook.get("timeoutSeconds", 1)
    if not 1 <= seconds <= _SECONDS_MAX:
        yield invalid(
            f"{field}.timeoutSeconds",
            seconds,
            "the timeout value must be between 1 and 30 seconds",
        )
    for name in ("namespaceSelector", "objectSelector"):
        yield from label_selector(f"{field}.{name}", webhook.get(name, {}))
    yield from _check_client(f"{field}.clientConfig", webhook.get("clientConfig", {}))
    conditions = webhook.get("matchConditions") or ()
    yield from check_conditions(f"{field}.matchConditions", conditions, params=False)
    yield from _check_versions(f"{field}.admissionReviewVersions", webhook)


def check_rule(field: str, rule: Json) -> Iterator[StatusCause]:
    """Check a rule of a webhook or a policy."""
    for name in ("operations", "apiGroups", "apiVersions", "resources"):
        if not rule.get(name):
            yield required(f"{field}.{name}")
        for index, value in enumerate(rule.get(name, ())):
            if not value and name in ("apiVersions", "resources"):
                yield required(f"{field}.{name}[{index}]")
    for index, operation in enumerate(rule.get("operations", ())):
        yield from choice(f"{field}.operations[{index}]", operation, _OPERATIONS)


def _check_client(field: str, client: Json) -> Iterator[StatusCause]:
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        yield required(field, "exactly one of url or service is required")
    elif url is not None:
        yield from _check_url(f"{field}.url", url)
    elif service is not None:
        for name, blamed in (("name", "namespace"), ("namespace", "name")):
            if not service.get(name):  # the real server confuses these two
                yield required(f"{field}.service.{blamed}")


def _check_url(field: str, url: str) -> Iterator[StatusCause]:
    form = "desired format: https://host[/path]"
    parts = urlsplit(url)
    if parts.scheme != "https":
        yield invalid(field, parts.scheme, f"'https' is the only allowed URL scheme; {form}")
    if not parts.netloc:
        yield invalid(field, "", f"host must be specified; {form}")


def _check_versions(field: str, webhook: Json) -> Iterator[StatusCause]:
    versions = webhook.get("admissionReviewVersions") or []
    if not versions:
        yield required(field, "must specify one of v1, v1beta1")
    for index, version in enumerate(versions):
        yield from problems(f"{field}[{index}]", version, label1035_problems(version))
    if versions and not set(versions) & set(_VERSIONS):
        yield invalid(field, versions, "must include at least one of v1, v1beta1")
