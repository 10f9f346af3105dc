"""The change log: one record for each write that changed an object, without any value."""

import json
import logging
import threading
from pathlib import Path
from typing import Any

import pytest

from myrmidon import ManagerOptions
from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.api.requests.request import Request, Verb
from myrmidon.api.requests.transport import HttpRequest
from myrmidon.errors import UsageError
from myrmidon.fsm import Done, Result
from myrmidon.fsm.context import Context
from myrmidon.io.writes.sent_writes import SentWrite
from myrmidon.runtime import WriteRecord
from myrmidon.runtime.logs import Logger
from myrmidon.runtime.observability.change_log import FIELDS_MAX, LINES_MAX, LineWriter, fields_of
from myrmidon.sets import OutputSet
from myrmidon.testing import ExternalStandIn, Fault, Harness, Lose, Script, Status, is_write
from tests.runtime.claims import ByToken, Claim, Claims, claim
from tests.runtime.things import FinalThings, Thing, Things, config_map, thing


def child(it: Thing, out: OutputSet, _ctx: Context) -> Result:
    """Apply one child with the value of the spec."""
    out.apply(config_map("child", it.spec.value))
    return Done()


def harness(controller: Things, records: list[WriteRecord], **more: Any) -> Harness:
    """A cluster whose change log is a list."""
    return Harness(controller, options=ManagerOptions(seed=0, on_write=records.append), **more)


def told(record: WriteRecord) -> tuple[str, str, str, tuple[str, ...]]:
    """Return the record in short: its state, verb, target and changed fields."""
    target = f"{record.target.kind.kind} {record.target.key}"
    if record.subresource:
        target += f"/{record.subresource}"
    return record.state, record.verb, target, record.fields


def test_the_writes_of_an_object_from_its_creation_to_its_end() -> None:
    """Outputs are recorded with their state, then the object's own finalizer and status."""
    records: list[WriteRecord] = []
    with harness(FinalThings(child), records) as cluster:
        cluster.apply(thing())
        cluster.settle()
        first = [told(record) for record in records]
        assert first[0] == ("", "patch", "Thing default/it", ("metadata.finalizers",))
        state, verb, target, fields = first[1]
        assert (state, verb, target) == ("first", "create", "ConfigMap default/child")
        assert "data" in fields
        assert first[2:] == [("", "patch", "Thing default/it/status", ("status",))]

        records.clear()
        cluster.patch(Thing, "it", {"spec": {"value": "b"}})
        cluster.settle()
        output, status = records
        assert told(output)[:3] == ("first", "patch", "ConfigMap default/child")
        assert "data.value" in output.fields
        assert output.object == ObjectRef(Things.kind(), "it", "default")
        assert output.causes == ("self update of Thing.test.myrmidon.dev default/it",)
        stored = cluster.require(kinds.CONFIG_MAP, "child")["metadata"]["resourceVersion"]
        assert output.resource_version == stored
        assert all(field.startswith("status.") for field in status.fields)

        records.clear()
        cluster.delete(Thing, "it")
        cluster.settle()
        assert ("", "patch", "Thing default/it", ("metadata.finalizers",)) in map(told, records)


def test_passes_that_write_nothing_leave_no_record() -> None:
    """A change that concerns no output causes a pass, but no record."""
    records: list[WriteRecord] = []
    with harness(Things(child), records) as cluster:
        cluster.apply(thing())
        cluster.settle()
        records.clear()
        cluster.patch(Thing, "it", {"metadata": {"labels": {"pass": "again"}}})
        cluster.settle()
        assert records == []


def secret(it: Thing, out: OutputSet, _ctx: Context) -> Result:
    """Apply a Secret with the value of the spec."""
    out.apply(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "child"},
            "stringData": {"password": it.spec.value},
        }
    )
    return Done()


def test_no_value_is_written_and_no_key_of_a_secret(tmp_path: Path) -> None:
    """The file names ``data`` and nothing below it."""
    path = tmp_path / "changes.jsonl"
    options = ManagerOptions(seed=0, change_log=str(path))
    with Harness(Things(secret), options=options) as cluster:
        cluster.apply(thing(value="hunter1"))
        cluster.settle()
        cluster.patch(Thing, "it", {"spec": {"value": "hunter2"}})
        cluster.settle()
    text = path.read_text()
    lines: list[Json] = [json.loads(line) for line in text.splitlines()]
    written = [line for line in lines if line["target"]["kind"] == "Secret"]
    assert [line["verb"] for line in written] == ["create", "patch"]
    assert "data" in written[1]["fields"]
    for hidden in ("hunter", "aHVudGVy", "password"):
        assert hidden not in text


def test_a_line_of_the_file(tmp_path: Path) -> None:
    """The names are those of the documentation; a later start appends."""
    path = tmp_path / "changes.jsonl"
    options = ManagerOptions(seed=0, change_log=str(path))
    for _ in range(2):
        with Harness(Things(child), options=options) as cluster:
            cluster.apply(thing())
            cluster.settle()
    lines = path.read_text().splitlines()
    assert len(lines) == 4
    line = json.loads(lines[0])
    version, time = line.pop("resourceVersion"), line.pop("time")
    assert version.isdecimal()
    assert time.endswith("+00:00")
    assert "data" in line.pop("fields")
    assert line == {
        "controller": "thing",
        "object": {
            "apiVersion": "test.myrmidon.dev/v1",
            "kind": "Thing",
            "name": "it",
            "namespace": "default",
        },
        "state": "first",
        "verb": "create",
        "target": {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": "child",
            "namespace": "default",
        },
        "outcome": "changed",
        "cause": ["self create of Thing.test.myrmidon.dev default/it"],
    }
    assert json.loads(lines[1])["target"]["subresource"] == "status"


@pytest.mark.parametrize("fault", [Lose(), Status(403)], ids=["lost", "refused"])
def test_a_write_without_a_clear_answer_is_recorded_and_a_refused_one_is_not(fault: Fault) -> None:
    """A write without a response may have changed the object; a refused one did not."""
    records, faulty = list[WriteRecord](), [fault]

    def faults(request: HttpRequest) -> Fault | None:
        posts = request.method == "POST" and request.path.endswith("/configmaps")
        return faulty.pop() if posts and faulty else None

    with harness(Things(child), records, faults=faults) as cluster:
        cluster.apply(thing())
        cluster.settle()
    outcomes = [record.outcome for record in records if record.target.name == "child"]
    assert outcomes == (["unknown"] if isinstance(fault, Lose) else ["changed"])
    for record in records:
        if record.outcome == "unknown":
            assert (record.fields, record.resource_version) == ((), "")


def test_a_function_that_raises_does_not_stop_the_pass(caplog: pytest.LogCaptureFixture) -> None:
    """The write has succeeded; the exception is logged with the name of the object."""

    def broken(_record: WriteRecord) -> None:
        raise RuntimeError("a bug")

    with Harness(Things(child), options=ManagerOptions(seed=0, on_write=broken)) as cluster:
        cluster.apply(thing())
        cluster.settle()
        assert cluster.ready(Thing, "it")
    assert {record.message for record in caplog.records} == {"on_write failed"}


def test_off_installs_nothing() -> None:
    """Without the options no wrapper is in the way."""
    with Harness(Things(child)) as cluster:
        cluster.apply(thing())
        cluster.settle()
        (loop,) = cluster.manager.loops
        assert loop.pool.reconcile == loop.reconciler.reconcile
        assert loop.reconciler._deps.applicator._sink is None


def test_a_file_that_cannot_be_opened(tmp_path: Path) -> None:
    """The error is one sentence, with the fix."""
    path = tmp_path / "missing" / "changes.jsonl"
    with pytest.raises(UsageError, match=r"(?s)change log cannot be opened.*fix: name a file"):
        LineWriter(str(path), Logger())


def test_standard_output(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    """It is flushed and stays open."""
    lines = LineWriter("-", Logger())
    lines.write(b"{}")
    lines.close()
    assert capsysbinary.readouterr().out == b"{}\n"


class Pipe:
    """A file that takes no line until it is told to, or none at all."""

    def __init__(self, error: OSError | None = None) -> None:
        self.error, self.may_go, self.lines = error, threading.Event(), list[bytes]()
        self.reached = threading.Event()

    def write(self, line: bytes) -> None:
        """Take a line, or raise."""
        self.reached.set()
        self.may_go.wait()
        if self.error is not None:
            raise self.error
        self.lines.append(line)

    def flush(self) -> None:
        """Nothing is buffered."""

    def close(self) -> None:
        """Nothing is open."""


def writer(pipe: Pipe, monkeypatch: pytest.MonkeyPatch) -> LineWriter:
    """A writer to this pipe."""
    monkeypatch.setattr("myrmidon.runtime.observability.change_log._opened", lambda _path: pipe)
    return LineWriter("pipe", Logger())


def test_a_pipe_that_is_not_read_drops_lines_instead_of_blocking(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The queue is bounded; the loss is logged once when it begins, and counted at the end."""
    pipe = Pipe()
    lines = writer(pipe, monkeypatch)
    lines.write(b"0")
    pipe.reached.wait()  # the thread has taken the first line and waits in the pipe
    for number in range(LINES_MAX + 3):
        lines.write(b"%d" % number)
    pipe.may_go.set()
    lines.close()
    assert len(pipe.lines) == LINES_MAX + 1
    messages = [
        (record.message, record.__dict__["facts"].get("dropped")) for record in caplog.records
    ]
    assert messages == [("change log lines dropped", None), ("change log incomplete", 3)]


def test_closing_gives_up_on_a_pipe_that_is_never_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process ends nevertheless."""
    monkeypatch.setattr("myrmidon.runtime.observability.change_log._CLOSE_SECONDS_MAX", 0.0)
    pipe = Pipe()
    lines = writer(pipe, monkeypatch)
    lines.write(b"0")
    pipe.reached.wait()
    lines.close()
    assert pipe.lines == []
    pipe.may_go.set()
    lines._thread.join()


def test_a_full_disk_is_logged_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Every line is tried, but the log is not flooded."""
    caplog.set_level(logging.WARNING)
    pipe = Pipe(OSError("no space left"))
    pipe.may_go.set()
    lines = writer(pipe, monkeypatch)
    for _ in range(3):
        lines.write(b"{}")
    lines.close()
    assert [record.message for record in caplog.records] == ["change log not written"]


def sent(verb: Verb, subresource: str = "", body: Any = None, **objects: Any) -> SentWrite:
    """A write of a ConfigMap."""
    ref = ObjectRef(kinds.CONFIG_MAP, "child", "default")
    return SentWrite("", "", Request(verb, ref, body, subresource), **{"before": None, **objects})


def test_the_fields_of_a_scale_are_those_of_the_request() -> None:
    """The response is a Scale, which cannot be compared with the object."""
    body = {"spec": {"replicas": 3}}
    scaled = sent(Verb.PATCH, "scale", body, before={"spec": {"a": 1}}, answer={"kind": "Scale"})
    assert fields_of(scaled) == ("spec",)


def test_a_deletion_names_no_fields() -> None:
    """The whole object is gone."""
    assert fields_of(sent(Verb.DELETE, before=config_map("child"), answer={})) == ()


def test_the_number_of_fields_is_limited() -> None:
    """A record is bounded, however large the object is."""
    data = {f"key{number}": "x" for number in range(FIELDS_MAX + 10)}
    found = fields_of(sent(Verb.PATCH, before={"data": {}}, answer={"data": data}))
    assert len(found) == FIELDS_MAX + 1
    assert found[-1] == "..."


def test_calls_that_change_an_external_resource_are_recorded() -> None:
    """With the name and the id of the resource.

    The effect of a call without response is unknown.
    """
    records: list[WriteRecord] = []
    lost: dict[int, Any] = {1: Lose()}
    for faults, creates in (({}, [("changed", True)]), (lost, [("unknown", False)])):
        records.clear()
        system = ExternalStandIn(faults=Script(faults, is_write))
        options = ManagerOptions(seed=0, on_write=records.append)
        with Harness(Claims(ByToken(system)), options=options) as cluster:
            cluster.apply(claim())
            cluster.settle()
            cluster.patch(Claim, "it", {"spec": {"size": 2}})
            cluster.settle()
            cluster.delete(Claim, "it")
            cluster.settle()
        outside = [record for record in records if record.external]
        found = [(one.outcome, bool(one.external_id)) for one in outside if one.verb == "create"]
        assert found[: len(creates)] == creates
        assert [one.verb for one in outside][-2:] == ["update", "delete"]
        assert {one.external for one in outside} == {ByToken(system).name}
        assert outside[-1].to_json()["target"] == {
            "external": ByToken(system).name,
            "id": outside[-1].external_id,
        }
        assert outside[-1].object == ObjectRef(Claim.KIND, "it", "default")
