"""The health endpoints ``/healthz``, ``/livez``, ``/readyz`` and their individual checks."""

from myrmidon.api.requests.transport import HttpRequest, HttpResponse

ROOTS = ("healthz", "livez", "readyz")
_TEXT = (("content-type", "text/plain; charset=utf-8"),)
_CHECKS = ("ping", "log", "etcd")
_READY_CHECKS = (*_CHECKS, "etcd-readiness", "informer-sync", "shutdown")


def health(request: HttpRequest) -> HttpResponse | None:
    """Return the response of a health endpoint; None if the path names an unknown check.

    All checks pass: this server has no parts that could fail separately.
    """
    root, _, check = request.path.strip("/").partition("/")
    checks = _READY_CHECKS if root == "readyz" else _CHECKS
    if check:
        known = check in checks or check.startswith("poststarthook/")
        return HttpResponse(200, _TEXT, b"ok") if known else None
    if not any(key == "verbose" for key, _ in request.query):
        return HttpResponse(200, _TEXT, b"ok")
    excluded = {value for key, value in request.query if key == "exclude"}
    lines = [f"[+]{each} {'excluded: ok' if each in excluded else 'ok'}" for each in checks]
    return HttpResponse(200, _TEXT, "\n".join([*lines, f"{root} check passed", ""]).encode())
