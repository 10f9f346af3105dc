"""Runs a scenario against a transport, without knowledge of the expected responses."""

import asyncio
import copy
import json
import re
from dataclasses import dataclass, field, replace
from typing import Any

from myrmidon.api.requests.transport import HttpRequest, HttpResponse, Transport
from tests.apiserver.conformance import places
from tests.apiserver.conformance.scenarios import (
    ACCEPTS,
    CONTENT_TYPES,
    Scenario,
    Step,
    definitions,
    read_step,
    read_yaml,
    repeated,
    whole_definition,
)
from tests.apiserver.conformance.streams import Stream, without_bookmarks
from tests.apiserver.conformance.variables import UnknownVariableError, filled

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_STANDARD = {
    "core": "/api/v1/namespaces/${ns}",
    "apps": "/apis/apps/v1/namespaces/${ns}",
    "custom": "/apis/${group}/v1/namespaces/${ns}",
    "crds": CRDS,
}
_FILLED = (
    "path", "query", "headers", "body", "raw", "token", "retry", "until", "claims", "capture",
    "select", "ignore", "unordered",
)  # fmt: skip
TOKENS = {"admin": "admin-token", "dev": "dev-token"}


@dataclass(slots=True)
class Answer:
    """The response to a step: ``step`` as written, ``actual`` with its variables filled in."""

    step: Step
    actual: Step
    status: int | None = None
    content_type: str = ""
    warnings: list[str] = field(default_factory=list)
    body: Any = None
    events: list[dict[str, Any]] | None = None
    closed: bool = False
    problems: list[str] = field(default_factory=list)

    @property
    def document(self) -> Any:
        """Return the events of a watch, or the body."""
        return self.body if self.events is None else self.events


class SetupError(Exception):
    """The setup of a scenario failed."""


async def idle(seconds: float) -> None:
    """Let time pass on the loop's own clock."""
    try:
        async with asyncio.timeout(seconds):
            await asyncio.Event().wait()
    except TimeoutError:
        return


class Runner:
    """Runs one scenario; ``run_id`` makes its names unique."""

    def __init__(self, transport: Transport, scenario: Scenario, run_id: str) -> None:
        self._transport, self._scenario, self.run_id = transport, scenario, run_id
        group = f"{run_id}.example.com"
        self._variables: dict[str, Any] = {"id": run_id, "ns": run_id, "group": group}
        self._variables |= _STANDARD | scenario.variables
        self._streams: dict[str, Stream] = {}
        self._tasks: asyncio.TaskGroup | None = None

    async def run(self) -> list[Answer]:
        """Set up, and take every step."""
        for item in self._scenario.setup:
            await self._set_up({"namespace": "${ns}"} if item == "namespace" else item)
        async with asyncio.TaskGroup() as self._tasks:
            answers = [await self._take(step) for step in self._scenario.steps]
            for stream in self._streams.values():
                stream.close()
        return answers

    # ------------------------------------------------------------------------- setup

    async def _set_up(self, item: dict[str, Any]) -> None:
        if "namespace" in item:
            name = filled(item["namespace"], self._variables)
            await self._must("/api/v1/namespaces", {"metadata": {"name": name}})
        elif "crd" in item:
            short = definitions()[item["crd"]] if isinstance(item["crd"], str) else item["crd"]
            crd = filled(whole_definition(short), self._variables)
            await self._must(CRDS, crd)
            await self._await_served(crd["spec"])
        else:
            for raw in repeated(item):
                answer = await self._take(read_step({"name": "setup", **raw}))
                if answer.problems or answer.status not in {200, 201}:
                    raise SetupError(f"{answer.status} {answer.problems} {answer.body}")

    async def _must(self, path: str, body: Any) -> None:
        step = Step("setup", "POST", path, body=body)
        response = await self._transport.send(_request(step))
        if response.status != 201:
            raise SetupError(f"POST {path}: {response.status} {response.body.decode()}")

    async def _await_served(self, spec: Any) -> None:
        for version in spec["versions"]:
            path = f"/apis/{spec['group']}/{version['name']}/{spec['names']['plural']}"
            for _ in range(100 if version["served"] else 0):
                if (await self._transport.send(_request(Step("", path=path)))).status == 200:
                    break
                await idle(0.05)
            else:
                if version["served"]:
                    raise SetupError(f"{path} is not served")

    # ------------------------------------------------------------------------- steps

    async def _take(self, raw: Step) -> Answer:
        answer = Answer(raw, raw)
        try:
            changes = {name: filled(getattr(raw, name), self._variables) for name in _FILLED}
            step = answer.actual = replace(raw, **changes)
            if step.pause:
                await idle(step.pause)
            clock = asyncio.get_running_loop().time
            started = clock()
            if step.collect is not None or step.expect == "watch":
                await self._watch(step, answer)
            else:
                await self._ask(step, answer)
            self._conclude(step, answer, clock() - started)
        except (UnknownVariableError, TimeoutError) as error:
            answer.problems.append(f"{type(error).__name__}: {error}")
        return answer

    def _conclude(self, step: Step, answer: Answer, elapsed: float) -> None:
        if step.status is not None and answer.status != step.status:
            answer.problems.append(f"status: wanted {step.status}, got {answer.status}")
        if step.elapsed is not None and not step.elapsed[0] <= elapsed <= step.elapsed[1]:
            answer.problems.append(f"took {elapsed:.1f} s, not {step.elapsed}")
        answer.problems += broken_claims(step.claims, answer.document)
        for name, path in step.capture.items():
            value = places.first(answer.document, path)
            if value is places.ABSENT:
                answer.problems.append(f"nothing to capture at {path}")
                self._variables.pop(name, None)
            else:
                self._variables[name] = value

    async def _ask(self, step: Step, answer: Answer) -> None:
        clock = asyncio.get_running_loop().time
        ends_at = clock() + float((step.retry or {}).get("timeout", 0))
        while True:
            _fill(answer, await self._transport.send(_request(step), deadline=60))
            if step.retry is None or _is_satisfied(step.retry, answer):
                return
            if clock() > ends_at:
                answer.problems.append(f"the answer did not get to {step.retry}")
                return
            await idle(float(step.retry.get("interval", 0.1)))

    async def _watch(self, step: Step, answer: Answer) -> None:
        stream = await self._stream(step, answer)
        if stream is None:
            return
        answer.status = stream.status
        answer.content_type = dict(stream.headers).get("content-type", "")
        if stream.status != 200:
            response = HttpResponse(stream.status, stream.headers, stream.body)
            _fill(answer, response)
            return
        if step.until is not None:
            events, found = await stream.collect(step.until, step.timeout)
            answer.events = without_bookmarks(events, step.bookmarks)
            answer.closed = stream.closed and bool(step.until.get("closed"))
            if not found:
                answer.problems.append(f"the watch did not get to {step.until}")
        if step.background is None and step.collect is None:
            stream.close()

    async def _stream(self, step: Step, answer: Answer) -> Stream | None:
        if step.collect is not None:
            if step.collect not in self._streams:
                answer.problems.append(f"no watch {step.collect!r} is open")
            return self._streams.get(step.collect)
        assert self._tasks is not None
        stream = Stream(self._transport, _request(step))
        stream.task = self._tasks.create_task(stream.read())
        self._streams[step.background or f"#{len(self._streams)}"] = stream
        await stream.opened.wait()
        return stream


def _request(step: Step) -> HttpRequest:
    headers = {"accept": ACCEPTS.get(step.accept or "", step.accept or "application/json")}
    headers |= {key.lower(): value for key, value in step.headers.items()}
    headers.setdefault("user-agent", "golden/1.0")
    if step.token != "none":
        headers.setdefault("authorization", f"Bearer {TOKENS.get(step.token, step.token)}")
    payload = _payload(step)
    if payload is not None and step.content_type != "none":
        sent = step.content_type or "json"
        headers.setdefault("content-type", CONTENT_TYPES.get(sent, sent))
    query = tuple(
        (key, str(each))
        for key, value in step.query.items()
        for each in (value if isinstance(value, list) else [value])
    )
    path, _, inline = step.path.partition("?")
    query += tuple(tuple(part.partition("=")[::2]) for part in inline.split("&") if part)  # type: ignore[misc]
    return HttpRequest(step.method, path, query, headers, payload or b"")


def _payload(step: Step) -> bytes | None:
    if step.raw is not None:
        return step.raw.encode()
    if step.body is None:
        return None
    body = step.body
    if step.pad:
        body = copy.deepcopy(body)
        *parents, last = step.pad["path"].split(".")
        holder = body
        for key in parents:
            holder = holder[key]
        holder[last] = "x" * int(step.pad["bytes"])
    return json.dumps(body).encode()


def _fill(answer: Answer, response: HttpResponse) -> None:
    answer.status = response.status
    answer.content_type = response.header("content-type") or ""
    answer.warnings = [value for key, value in response.headers if key == "warning"]
    answer.body = _document(response.body.decode(errors="replace"), answer.content_type)


def _document(text: str, content_type: str) -> Any:
    if content_type.startswith("application/yaml"):
        return read_yaml(text)
    if content_type.startswith("application/json") or text.startswith("{"):
        try:
            return json.loads(text)
        except ValueError:
            return text
    return text


def _is_satisfied(condition: dict[str, Any], answer: Answer) -> bool:
    if condition.get("status", answer.status) != answer.status:
        return False
    return not broken_claims(condition.get("assert", []), answer.body)


def broken_claims(claims: list[dict[str, Any]], document: Any) -> list[str]:
    """Return the claims that do not hold, in words."""
    broken = []
    for claim in claims:
        value = places.first(document, claim["path"])
        for operator, wanted in claim.items():
            if operator != "path" and not _holds(operator, value, wanted):
                broken.append(f"{claim['path']} {operator} {wanted!r} is not true of {value!r}")
    return broken


def _holds(operator: str, value: Any, wanted: Any) -> bool:
    match operator:
        case "exists":
            return (value is not places.ABSENT) is bool(wanted)
        case "eq":
            return bool(value == wanted)
        case "ne":
            return value is places.ABSENT or bool(value != wanted)
        case "matches":
            return value is not places.ABSENT and re.search(wanted, str(value)) is not None
        case "length":
            return value is not places.ABSENT and len(value) == wanted
        case "contains":
            return value is not places.ABSENT and wanted in value
        case _:
            return _compares(operator, value, wanted)


def _compares(operator: str, value: Any, wanted: Any) -> bool:
    try:
        left, right = int(value), int(wanted)
    except (TypeError, ValueError):
        return False
    return {"gt": left > right, "ge": left >= right, "lt": left < right, "le": left <= right}[
        operator
    ]
