"""Client: get, list, create, update, patch, delete and watch objects of one API server.

A client adds two things to a transport.  It turns answers into objects or errors, and it retries
requests that the server postponed (429, 503), a few times and for a few seconds (``RetryPolicy``).
It has no cache.
"""

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Protocol, TypeAlias

import orjson

from myrmidon.api.clock import Clock
from myrmidon.api.objects.accessors import Json, ref_of
from myrmidon.api.objects.refs import Kind, ObjectRef
from myrmidon.api.requests.request import Patch, Request, Verb
from myrmidon.api.requests.transport import (
    JSON,
    HttpRequest,
    HttpResponse,
    ResponseStream,
    Transport,
)
from myrmidon.errors import (
    AmbiguousError,
    ApiError,
    ExpiredError,
    MyrmidonError,
    ServerError,
    TransportError,
    UnreadableObjectError,
    UsageError,
    api_error,
)
from myrmidon.io.http.warning_headers import warning_texts
from myrmidon.io.lists.answers import Page, read_page
from myrmidon.io.lists.events import identify
from myrmidon.io.lists.scanner import BrokenJsonError
from myrmidon.io.lists.scope import Scope
from myrmidon.io.lists.shapes import NO_METADATA, Unreadable, problem_in, read_object, stub_of
from myrmidon.io.throttle import RetryPolicy, retry_after
from myrmidon.io.timers.clock import LoopClock
from myrmidon.io.timers.pacing import pacer

Query: TypeAlias = tuple[tuple[str, str], ...]
Objects: TypeAlias = list[Json]
Texts: TypeAlias = list[str]

_log = logging.getLogger(__name__)


class Observer(Protocol):
    """The object that a client reports every request to, for metrics."""

    def on_request(self, method: str, status: int, seconds: float) -> None:
        """Record one attempt at a request; ``status`` is 0 if there was no answer."""
        ...


class Client:
    """Sends requests to one API server through a transport.

    ``retries`` says which refusals are retried here (default: ``RetryPolicy()``).
    ``deadline_seconds`` limits each attempt at a request, and opening a stream; the waits between
    attempts are not part of it.  ``observer`` is told of every attempt.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        clock: Clock | None = None,
        observer: Observer | None = None,
        retries: RetryPolicy | None = None,
        rng: random.Random | None = None,
        deadline_seconds: float = 30.0,
    ) -> None:
        self._transport = transport
        self._clock: Clock = clock or LoopClock()
        self._observer = observer
        self._retries = retries or RetryPolicy()
        self._rng = rng or random.Random()  # noqa: S311  spreads retries; keeps no secret
        self._deadline_seconds = deadline_seconds
        self.remotes: Mapping[str, Client] = {}
        """The clients of remote clusters; requests for kinds on those clusters are sent there."""

    # ------------------------------------------------------------------ one object

    async def get(self, ref: ObjectRef, *, subresource: str = "") -> Json:
        """Read one object from the server, not from a cache.

        Raises ``UnreadableObjectError`` if it exists, but is malformed.
        """
        request = Request(Verb.GET, ref, subresource=subresource)
        if subresource:
            return await self.send(request)
        return _object(ref, await self._of(ref.kind).fetch(request.to_http()))

    async def create(
        self, kind: Kind, obj: Json, *, dry_run: bool = False, field_manager: str = ""
    ) -> Json:
        """Create an object under the name and namespace in its metadata; return it as created."""
        query = _options(dry_run=dry_run, field_manager=field_manager)
        return await self.send(Request(Verb.CREATE, ref_of(kind, obj), obj, query=query))

    async def update(
        self,
        kind: Kind,
        obj: Json,
        *,
        subresource: str = "",
        dry_run: bool = False,
        field_manager: str = "",
    ) -> Json:
        """Replace a whole object, or one of its subresources; return it as stored."""
        query = _options(dry_run=dry_run, field_manager=field_manager)
        request = Request(Verb.UPDATE, ref_of(kind, obj), obj, subresource=subresource, query=query)
        return await self.send(request)

    async def patch(
        self,
        ref: ObjectRef,
        body: Any,
        *,
        patch: Patch = Patch.MERGE,
        subresource: str = "",
        dry_run: bool = False,
        field_manager: str = "",
        force: bool = False,
    ) -> Json:
        """Patch an object, or one of its subresources; return it as stored.

        ``force``, for server-side apply only, takes over fields that other field managers own.
        """
        query = _options(dry_run=dry_run, field_manager=field_manager, force=force)
        return await self.send(Request(Verb.PATCH, ref, body, subresource, patch, query))

    async def delete(
        self,
        ref: ObjectRef,
        *,
        uid: str = "",
        resource_version: str = "",
        propagation: str = "",
        dry_run: bool = False,
    ) -> Json:
        """Delete an object.  With ``uid``, a new object of the same name is not deleted.

        Return a Status if the object is gone, or the object if its finalizers have to run first.
        """
        body = delete_options(uid=uid, resource_version=resource_version, propagation=propagation)
        return await self.send(Request(Verb.DELETE, ref, body, query=_options(dry_run=dry_run)))

    async def send(self, request: Request, *, warnings: Texts | None = None) -> Json:
        """Send a request and return its answer as an object; raise an ApiError if it is refused.

        The texts of ``Warning`` headers are added to ``warnings``.
        """
        response = await self._of(request.ref.kind).fetch(request.to_http())
        if warnings is not None:
            warnings += warning_texts(response.headers)
        return _decode(response)

    # ---------------------------------------------------------------- many objects

    async def pages(self, scope: Scope, *, page_size: int = 500) -> AsyncIterator[Page]:
        """Yield the pages of a list; all of them show the snapshot of the first one."""
        token = ""
        while True:
            request = scope.list_request(limit=page_size, continue_token=token)
            page = await read_page((await self._of(scope.kind).fetch(request)).body)
            yield page
            if page.continue_token == token != "":
                raise AmbiguousError("the server repeated the continue token of a list")
            token = page.continue_token
            if not token:
                return

    async def list(
        self,
        kind: Kind,
        namespace: str = "",
        *,
        labels: str = "",
        fields: str = "",
        page_size: int = 500,
    ) -> Objects:
        """Return all objects that match, read page by page.  Unreadable ones are left out.

        If the server drops the snapshot of the first page before the last page is read (410), the
        whole list is read again in one request: pages of two snapshots must not be mixed.
        """
        scope = Scope(kind, namespace, labels, fields)
        try:
            return await self._listed(scope, page_size)
        except ExpiredError:
            return await self._listed(scope, 0)

    async def _listed(self, scope: Scope, page_size: int) -> Objects:
        found: Objects = []
        async for page in self.pages(scope, page_size=page_size):
            for item in page.items:
                obj, problem = item if type(item) is Unreadable else (item, problem_in(item))
                if problem:
                    facts = {"scope": str(scope), "problem": problem, **stub_of(obj)["metadata"]}
                    _log.warning("unreadable object left out of a list", extra={"facts": facts})
                else:
                    found.append(identify(scope.kind, obj))
                await pacer().give_way()
        return found

    @asynccontextmanager
    async def watch(
        self, scope: Scope, resource_version: str, *, timeout_seconds: int = 300
    ) -> AsyncIterator[AsyncIterator[Json]]:
        """Open one watch and yield its raw events until the server ends it.

        To follow objects over reconnects, use a ``Reflector``.
        """
        request = scope.watch_request(resource_version, timeout_seconds=timeout_seconds)
        async with self.stream(request) as lines:
            yield (_event(line) async for line in lines)

    # -------------------------------------------------------------------- the wire

    def _of(self, kind: Kind) -> "Client":
        """Return the client of the kind's cluster.

        There is no default: a request must never reach another cluster than the one it is for.
        """
        if not kind.cluster:
            return self
        if kind.cluster not in self.remotes:
            raise UsageError(
                f"there is no connection to the cluster {kind.cluster!r}.\n"
                f"  fix: manager.add_remote({kind.cluster!r}, transport)"
            )
        return self.remotes[kind.cluster]

    async def fetch(self, request: HttpRequest) -> HttpResponse:
        """Send a request, retry it as ``RetryPolicy`` allows, and return the answer.

        Raises an ApiError if the final answer is a refusal.
        """
        response = await self._attempt(request)
        if response.status >= 400:
            response = await self._retry(request, response)
            if response.status >= 400:
                raise _error(response)
        return response

    async def exchange(self, request: HttpRequest) -> HttpResponse:
        """Send a request, retry it as ``RetryPolicy`` allows; return the answer or the refusal."""
        response = await self._attempt(request)
        return response if response.status < 400 else await self._retry(request, response)

    async def _retry(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        """Send a refused request again, as ``RetryPolicy`` allows; return the last response."""
        attempt = 1
        while response.status >= 400:
            jitter = self._rng.random()
            seconds = self._retries.delay(request, response, attempt=attempt, jitter=jitter)
            if seconds is None:
                break
            await self._clock.sleep(seconds)
            attempt += 1
            response = await self._attempt(request)
        return response

    async def fetch_json(self, path: str, *, accept: str = JSON) -> Json:
        """Read a path that is not an object, such as discovery, ``/version`` or OpenAPI."""
        return _decode(await self.fetch(HttpRequest("GET", path, headers={"accept": accept})))

    @asynccontextmanager
    async def stream(self, request: HttpRequest) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open a stream and yield its lines; raise an ApiError if the server refuses it.

        Opening the stream has the deadline of a request.  How long to wait for a line is up to the
        caller.
        """
        async with AsyncExitStack() as stack:
            response = await self._opened(request, stack)
            yield response.lines()

    async def _opened(self, request: HttpRequest, stack: AsyncExitStack) -> ResponseStream:
        started_at, status = self._clock.monotonic(), 0
        refusal: HttpResponse | None = None
        try:
            async with asyncio.timeout(self._deadline_seconds):
                response = await stack.enter_async_context(self._transport.stream(request))
                status = response.status
                if status < 400:
                    return response
                refusal = HttpResponse(status, response.headers)  # in case the body does not come
                refusal = refusal._replace(body=await response.read())
        except TimeoutError as error:
            if refusal is None:
                said = f"no answer in {self._deadline_seconds:g} s: {request.method} {request.path}"
                raise AmbiguousError(said) from error
        except TransportError:
            if refusal is None:
                raise
        finally:
            self._observe(request, status, started_at)
        assert refusal is not None, "returned or raised"
        raise _error(refusal)

    async def close(self) -> None:
        """Close the transport."""
        await self._transport.close()

    async def _attempt(self, request: HttpRequest) -> HttpResponse:
        started_at, status = self._clock.monotonic(), 0
        try:
            response = await self._transport.send(request, deadline=self._deadline_seconds)
            status = response.status
        finally:
            self._observe(request, status, started_at)
        return response

    def _observe(self, request: HttpRequest, status: int, started_at: float) -> None:
        if self._observer is not None:
            seconds = self._clock.monotonic() - started_at
            self._observer.on_request(request.method, status, seconds)


def delete_options(
    *, uid: str = "", resource_version: str = "", propagation: str = ""
) -> Json | None:
    """Return the DeleteOptions for the body of a delete; None if all are defaults."""
    named = {"uid": uid, "resourceVersion": resource_version}
    preconditions = {name: value for name, value in named.items() if value}
    options: Json = {"preconditions": preconditions} if preconditions else {}
    if propagation:
        options["propagationPolicy"] = propagation
    return {"apiVersion": "v1", "kind": "DeleteOptions", **options} if options else None


def is_ambiguous(error: MyrmidonError) -> bool:
    """Whether a write that failed with this error may nevertheless have taken effect.

    If so, neither outcome may be assumed: the next decision about the object needs a live read.
    """
    return isinstance(error, AmbiguousError | ServerError)


def _options(*, dry_run: bool = False, field_manager: str = "", force: bool = False) -> Query:
    pairs = (
        ("dryRun", "All" if dry_run else ""),
        ("fieldManager", field_manager),
        ("force", "true" if force else ""),
    )
    return tuple((name, value) for name, value in pairs if value)


def _decode(response: HttpResponse) -> Json:
    """Return the object in an answer.  An incomplete answer is treated as no answer."""
    try:
        body = orjson.loads(response.body)
    except orjson.JSONDecodeError as error:
        raise AmbiguousError(f"the server's answer is not JSON: {error}") from error
    if not isinstance(body, dict) or not isinstance(body.get("metadata") or {}, dict):
        raise AmbiguousError(f"the server's answer is not an object: {response.body[:80]!r}")
    return body


def _object(ref: ObjectRef, response: HttpResponse) -> Json:
    """Return the object in the answer to a GET; raise ``UnreadableObjectError`` if malformed."""
    try:
        found = read_object(response.body)
    except BrokenJsonError as error:
        raise AmbiguousError(f"the server's answer is not JSON: {error}") from error
    problem = found.problem if type(found) is Unreadable else problem_in(found)
    if problem in ("", NO_METADATA):
        return found  # type: ignore[no-any-return]  # an object, or it would have a problem
    raise UnreadableObjectError(str(ref), problem)


def _event(line: bytes) -> Json:
    try:
        event = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise AmbiguousError(f"a line of a watch is not JSON: {error}") from error
    return event if isinstance(event, dict) else {}


def _error(response: HttpResponse) -> ApiError:
    body: Any = None
    if response.body.startswith(b"{"):
        try:
            body = orjson.loads(response.body)
        except orjson.JSONDecodeError:
            body = None
    text = response.body[:500].decode(errors="replace")
    body = body if isinstance(body, dict) else None
    return api_error(response.status, body, text=text, retry_after=retry_after(response))
