"""Find the document of a path that is not a resource: version, health, discovery, OpenAPI.

The documents depend on the served resources only, so they are built on first use and cached until
the registry changes (``Registry.epoch``).
"""

from collections.abc import Callable, Sequence

from myrmidon.api.requests.transport import HttpRequest, HttpResponse
from myrmidon.apiserver.auth.account_tokens import AccountTokens
from myrmidon.apiserver.catalog.resources import version_document
from myrmidon.apiserver.discovery import groups, health, issuer
from myrmidon.apiserver.discovery.metrics import metrics
from myrmidon.apiserver.golang import json as go_json
from myrmidon.apiserver.refusals.failures import method_not_allowed, unknown_resource
from myrmidon.apiserver.resources.registry import Registry, ResourceType
from myrmidon.apiserver.store import ObjectStore
from myrmidon.apiserver.wire.negotiation import ACCEPTED, PLAIN, Form, not_acceptable, render

_JSON = (("content-type", "application/json"),)
_TEXT = (("content-type", "text/plain; charset=utf-8"),)
_ADDRESS = "127.0.0.1:443"
_MISSING_DOCUMENT = HttpResponse(404)
_AGGREGATED = "APIGroupDiscoveryList"
_DISCOVERY_MEDIA = {
    "*/*": "json",
    "application/json": "json",
    "application/yaml": "yaml",
    "application/vnd.kubernetes.protobuf": "protobuf",
}


class Documents:
    """The documents of the server, cached by path and form."""

    def __init__(self, registry: Registry, accounts: AccountTokens, store: ObjectStore) -> None:
        self._registry, self._accounts, self._store = registry, accounts, store
        self._epoch = -1
        self._kept: dict[tuple[str, Form], HttpResponse | None] = {}

    def find(self, request: HttpRequest) -> HttpResponse | None:
        """Return the response to a path that is not a resource; None if the path is unknown."""
        if self._epoch != self._registry.epoch:
            self._kept, self._epoch = {}, self._registry.epoch
        path = request.path.rstrip("/")
        root = path.strip("/").partition("/")[0]
        if root in health.ROOTS:
            return health.health(request)
        if path == "/metrics":
            return metrics(self._registry.storages(), self._store)
        if path in issuer.PATHS:
            return issuer.answer(path, request, self._accounts)
        form = _negotiate(request.headers.get("accept", ""), path)
        key = (path, form)
        if key not in self._kept:
            made = self._make(path, form)
            self._kept[key] = made and _in_form(made, form)
        found = self._kept[key]
        if found is not None and request.method not in {"GET", "HEAD"}:
            raise method_not_allowed()
        return found

    def _make(self, path: str, form: Form) -> HttpResponse | None:
        root, *parts = path.strip("/").split("/")
        aggregated = form.shape == _AGGREGATED
        if path == "":
            return _answer({"paths": self._paths()})
        makers: dict[str, Callable[[], HttpResponse | None]] = {
            "version": lambda: _answer(version_document()),
            "api": lambda: self._api(parts, aggregated=aggregated),
            "apis": lambda: self._apis(parts, aggregated=aggregated),
            "openapi": lambda: self._openapi(parts, form),
        }
        make = makers.get(root)
        return make() if make is not None else None

    def _paths(self) -> list[str]:
        """Return the paths that ``/`` lists."""
        groups = {each.kind.group for each in self._registry if each.kind.group}
        versions = {each.kind.root for each in self._registry}
        fixed = {*issuer.PATHS, "/api", "/apis", "/openapi/v2", "/openapi/v3", "/version"}
        fixed |= {f"/{root}" for root in health.ROOTS}
        return sorted({*fixed, *versions, *(f"/apis/{group}" for group in groups)})

    def _custom(self) -> list[ResourceType]:
        return [each for each in self._registry if each.custom]

    def _api(self, parts: list[str], *, aggregated: bool) -> HttpResponse | None:
        match parts:
            case []:
                if aggregated:
                    return _aggregated(core=True, custom=())
                return _answer(groups.api_versions(_ADDRESS))
            case [version]:
                return self._version("", version)
            case _:
                return None

    def _apis(self, parts: list[str], *, aggregated: bool) -> HttpResponse | None:
        match parts:
            case []:
                if aggregated:
                    return _aggregated(core=False, custom=self._custom())
                return _answer(groups.group_list(self._custom()))
            case [group]:
                found = groups.group(group, self._custom())
                return _answer(found) if found is not None else None
            case [group, version]:
                return self._version(group, version)
            case _:
                return None

    def _version(self, group: str, version: str) -> HttpResponse | None:
        found = groups.resource_list(group, version, self._custom())
        if found is not None:
            return _answer(found)
        if self._registry.is_builtin_group(group):
            raise unknown_resource()
        return None

    def _openapi(self, parts: list[str], form: Form) -> HttpResponse | None:
        from myrmidon.apiserver.discovery import openapi, openapi_v2  # noqa: PLC0415 - only kubectl needs it

        match parts:
            case ["v2"]:
                return openapi_v2.answer(self._custom(), form)
            case ["v3"]:
                # The real server labels this JSON document as plain text.
                return HttpResponse(200, _TEXT, go_json.encode(openapi.index(self._custom())))
            case ["v3", *name]:
                found = openapi.document("/".join(name), self._custom())
                return _answer(found) if found is not None else _MISSING_DOCUMENT
            case _:
                return None


def _negotiate(accept: str, path: str) -> Form:
    """Return the form of a document: its media type, aggregated or not; raise a 406."""
    root = path.strip("/").partition("/")[0]
    if path == "/openapi/v2":
        from myrmidon.apiserver.discovery import openapi_v2  # noqa: PLC0415 - see _openapi

        return openapi_v2.form_of(accept)
    if root not in {"api", "apis", "version"} or not accept:
        return PLAIN
    known = False
    for part in accept.split(","):
        media, *parameters = (piece.strip() for piece in part.split(";"))
        syntax = _DISCOVERY_MEDIA.get(media)
        if syntax is None or (syntax != "json" and root == "version"):
            continue
        known = True
        options = dict(piece.partition("=")[::2] for piece in parameters)
        if "as" not in options:
            return Form(syntax)
        if options["as"] == _AGGREGATED and options.get("v") == "v2":
            return Form(syntax, _AGGREGATED)
    available = "application/json" if root == "version" else ACCEPTED
    is_about_groups = root == "apis" and path.count("/") <= 2  # made by the aggregator there
    raise not_acceptable("" if known or is_about_groups else available)


def _in_form(made: HttpResponse, form: Form) -> HttpResponse:
    """Return a JSON document in the form that the client asked for."""
    media = made.headers[0][1] if made.headers else ""
    if form.media not in {"protobuf", "yaml"} or not media.startswith("application/json"):
        return made
    headers = (("content-type", media.replace("application/json", form.content_type)),)
    return HttpResponse(200, headers, render(form, made.body))


def _answer(document: object) -> HttpResponse:
    return HttpResponse(200, _JSON, go_json.encode(document))


def _aggregated(*, core: bool, custom: Sequence[ResourceType]) -> HttpResponse:
    listed = groups.aggregated(core=core, custom=custom)
    headers = (("content-type", groups.AGGREGATED_TYPE),)
    return HttpResponse(200, headers, go_json.encode(listed))
