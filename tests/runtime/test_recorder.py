"""The recorder: bounded by bytes, complete for readers that come back, and without Secrets."""

from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from myrmidon import (
    Context,
    Controller,
    Done,
    Failed,
    ManagerOptions,
    OutputSet,
    Result,
    Wait,
    kinds,
    state,
)
from myrmidon.api.objects.conditions import ConditionValue
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.api.requests.request import Request, Verb
from myrmidon.fsm.context import Cause
from myrmidon.fsm.engine import Outcome, Visit
from myrmidon.fsm.machine.states import State
from myrmidon.runtime.observability.kept_writes import NONE, kept_writes
from myrmidon.runtime.observability.pass_record import PassRecord
from myrmidon.runtime.observability.recorder import PERIOD, Recorder
from myrmidon.runtime.observability.under_way import PassUnderWay, drop
from myrmidon.runtime.queue.queue import Turn, Urgency
from myrmidon.testing import Harness
from tests.testing.machines import Calm, Thing, ThingSpec

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
STATE = State("made", "Made")
REPEATS_BYTES = 64 * 160


def record(name: str, seconds: float, message: str = "") -> PassRecord:
    """Return a pass that ended so many seconds after the epoch."""
    outcome = Outcome((Visit(STATE, ConditionValue("True", "Done", message)),), ended=True)
    ref = ObjectRef(Thing.KIND, name, "default")
    at = EPOCH + timedelta(seconds=seconds)
    return PassRecord(("things", ref), at=at, seconds=0.001, causes=(), outcome=outcome)


PASSES = st.lists(
    st.tuples(
        st.sampled_from("abcdef"),
        st.floats(0, 400),
        st.integers(0, 3000),
        st.booleans(),
    ),
    max_size=120,
)


@settings(deadline=None)
@given(PASSES, st.integers(2_000, 60_000), st.integers(1, 8))
def test_neither_part_ever_exceeds_its_half(
    passes: list[tuple[str, float, int, bool]], bytes_max: int, passes_max: int
) -> None:
    """Whatever comes, in memory and in number; and the sizes are those of what is kept."""
    recorder, now = Recorder(bytes_max, passes_max), 0.0
    for name, gap, length, repeated in passes:
        now += gap
        key = ("things", ObjectRef(Thing.KIND, name, "default"))
        history = recorder.find(key)
        if repeated and history is not None:
            recorder.repeat(history.last, EPOCH + timedelta(seconds=now))
        else:
            recorder.add(key, record(name, now, "x" * length))
        assert recorder.history_bytes <= bytes_max // 2
        assert recorder.stream_bytes <= bytes_max // 2 + REPEATS_BYTES
        kept = recorder.histories("things")
        assert all(1 <= len(one.records) <= passes_max for one in kept)
        assert recorder.history_bytes == sum(each.bytes for one in kept for each in one.records)
        kept_records = sum(len(one.records) for one in kept)
        assert len(recorder._order) - recorder._stale == kept_records
        assert len(recorder._order) <= 2 * kept_records + 3 * 64


@settings(deadline=None)
@given(PASSES, st.lists(st.integers(0, 6), max_size=150), st.integers(4_000, 60_000))
def test_a_reader_that_comes_back_misses_and_doubles_nothing(
    passes: list[tuple[str, float, int, bool]], looks: list[int], bytes_max: int
) -> None:
    """Each number once and in order, unless the recorder says that some are gone."""
    recorder, seen, now = Recorder(bytes_max), 0, 0.0
    for index, (name, gap, length, _repeated) in enumerate(passes):
        now += gap
        recorder.add(
            ("things", ObjectRef(Thing.KIND, name, "default")), record(name, now, "x" * length)
        )
        if index < len(looks) and looks[index] == 0:
            found = recorder.since(seen)
            if found is None:
                assert recorder.first > seen + 1
            else:
                assert [entry[0] for entry in found] == [*range(seen + 1, recorder.number + 1)]
            seen = recorder.number
    assert recorder.since(recorder.number) == []
    assert recorder.since(recorder.number + 1) is None


def test_the_stream_ends_after_the_period() -> None:
    """Older passes stay in the history of their object."""
    recorder = Recorder()
    key = ("things", ObjectRef(Thing.KIND, "a", "default"))
    recorder.add(key, record("a", 0))
    history = recorder.find(key)
    assert history is not None
    for _ in range(63):  # it is looked for old entries every 64 passes
        recorder.repeat(history.last, EPOCH + PERIOD + timedelta(seconds=1))

    assert [entry[0] for entry in recorder.stream()] == [*range(2, 65)]
    assert len(history.records) == 1
    assert history.passes == 64


def test_the_last_pass_of_a_quiet_object_outlives_older_passes_of_a_busy_one() -> None:
    """It is spared once, so that the page can still tell where the object is."""
    recorder = Recorder(2 * 10 * record("a", 0).bytes)
    quiet = ("things", ObjectRef(Thing.KIND, "quiet", "default"))
    recorder.add(quiet, record("quiet", 0))
    for second in range(12):
        recorder.add(("things", ObjectRef(Thing.KIND, "busy", "default")), record("busy", second))

    assert recorder.find(quiet) is not None


def test_passes_that_were_dropped_still_count() -> None:
    """Both those beyond the number for each object, and those beyond the memory."""
    recorder = Recorder(2 * 4 * record("a", 0).bytes, passes_max=2)
    busy = ("things", ObjectRef(Thing.KIND, "busy", "default"))
    history = recorder.add(busy, record("busy", 0))
    recorder.repeat(history.last, EPOCH)
    for second in range(1, 5):
        recorder.add(busy, record("busy", second))
        recorder.repeat(history.last, EPOCH + timedelta(seconds=second))
    assert len(history.records) == 2
    assert history.passes == 10
    for number in range(6):  # of the five references to the busy object, three are stale
        name = f"other{number}"
        recorder.add(("things", ObjectRef(Thing.KIND, name, "default")), record(name, 9))
        kept = sum(len(one.records) for one in recorder.histories("things"))
        assert len(recorder._order) - recorder._stale == kept


def traced(controller: Controller[Thing]) -> Harness:
    """Return a harness whose passes are recorded."""
    return Harness(controller, options=ManagerOptions(seed=0, trace=True))


def records(cluster: Harness) -> list[PassRecord]:
    """Return the recorded passes of the only object."""
    recorder = cluster.manager.recorder
    assert recorder is not None
    (history,) = recorder.histories(cluster.manager.loops[0].controller.name)
    return [*history.records]


def test_a_pass_is_recorded_with_states_times_and_writes() -> None:
    """And a write with the object before and after it."""
    with traced(Calm()) as cluster:
        cluster.apply(Thing(name="a", spec=ThingSpec(size=1)))
        cluster.settle()
        first = records(cluster)[0]

    assert [step.state for step in first.steps] == ["made", "checked"]
    assert len(first.state_seconds) == 2
    assert [str(wrote) for wrote in first.writes] == ["create ConfigMap a", "patch Thing a status"]
    assert [wrote.state for wrote in first.writes] == ["made", ""]
    before, after = first.bodies[1]
    assert before is not None
    assert after is not None
    assert after["status"]["conditions"]
    assert "status" not in before


def test_passes_that_do_the_same_are_one_record() -> None:
    """And each of them is in the stream."""
    with traced(Calm()) as cluster:
        cluster.apply(Thing(name="a", spec=ThingSpec(size=10)))
        cluster.advance(timedelta(seconds=200))
        recorder = cluster.manager.recorder
        found = records(cluster)

    assert recorder is not None
    assert sum(1 + one.repeats for one in found) == recorder.number
    assert len(found) < recorder.number
    assert found[-1].repeats >= 1
    assert found[-1].next_pass.seconds == 60


def test_a_pass_that_wrote_is_not_repeated_by_one_that_did_not() -> None:
    """The quiet pass after it is a record of its own, so the count of repeats is that of quiet passes."""
    with traced(Calm()) as cluster:
        cluster.apply(Thing(name="a", spec=ThingSpec(size=1)))
        cluster.settle()
        loop = cluster.manager.loops[0]
        loop.pool.add(ObjectRef(Thing.KIND, "a", "default"), cause=Cause("resync"))
        cluster.settle()
        wrote, quiet = records(cluster)

    assert wrote.writes
    assert wrote.repeats == 0
    assert not quiet.writes


def test_nothing_is_recorded_without_the_option() -> None:
    """Neither a recorder nor a listener exists."""
    with Harness(Calm()) as cluster:
        cluster.apply(Thing(name="a", spec=ThingSpec(size=1)))
        cluster.settle()

        assert cluster.manager.recorder is None
        assert cluster.manager.loops[0].tracer is None


class Secretive(Controller[Thing]):
    """Writes a Secret."""

    manages = (kinds.SECRET,)

    @state(initial=True)
    def made(self, obj: Thing, out: OutputSet) -> Result:
        """The Secret exists."""
        out.apply(
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"name": obj.name},
                "stringData": {"password": f"hunter{obj.spec.size}"},
            }
        )
        return Done()


def test_values_of_secrets_are_not_kept() -> None:
    """Only the names of the changed parts."""
    with traced(Secretive()) as cluster:
        cluster.apply(Thing(name="a", spec=ThingSpec(size=1)))
        cluster.settle()
        cluster.apply(Thing(name="a", spec=ThingSpec(size=2)))
        cluster.settle()
        found = records(cluster)

    writes, kept = [wrote for one in found for wrote in one.writes], [one._kept for one in found]
    assert "hunter" not in repr(kept)
    assert "aHVudGVy" not in repr(kept)  # base64
    changed = [wrote for wrote in writes if wrote.ref.kind == kinds.SECRET]
    assert [wrote.verb for wrote in changed] == ["create", "patch"]
    assert "data" in changed[1].fields


class Refused(Controller[Thing]):
    """Writes a ConfigMap that the server refuses."""

    manages = (kinds.CONFIG_MAP,)

    @state(initial=True)
    def made(self, obj: Thing, out: OutputSet) -> Result:
        """The ConfigMap exists."""
        out.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "Not_A_Name"}})
        return Done()


def test_a_refusal_is_recorded_in_the_words_of_the_server() -> None:
    """With the state that declared the output, and without a value after it."""
    with traced(Refused()) as cluster:
        cluster.apply(Thing(name="a", spec=ThingSpec(size=1)))
        cluster.advance(timedelta(seconds=1))
        first = records(cluster)[0]

    refused = first.writes[0]
    assert "RFC 1123" in refused.error
    assert (refused.verb, refused.state) == ("create", "made")
    assert tuple(first.bodies[0]) == (None, None)


def test_a_refused_secret_is_recorded_without_the_value_that_the_server_quotes() -> None:
    """The server quotes invalid values in its message."""
    said = 'Secret "a" is invalid: data[x]: Invalid value: "hunter2": must be base64'
    ref = ObjectRef(kinds.SECRET, "a", "default")
    under_way = PassUnderWay(Turn(ref, 0.0, 0.0, Urgency.LIVE))
    under_way.append(("c:default/a", "c.made", Request(Verb.CREATE, ref), None, None, said, False))

    kept = kept_writes(under_way)

    assert "hunter2" not in repr(kept)
    assert 'Secret "a" is invalid' in repr(kept)


def test_an_object_that_a_state_spoiled_does_not_break_the_pass() -> None:
    """A state may put a value that is not JSON into its object; the write is kept without the object."""
    ref = ObjectRef(Thing.KIND, "a", "default")
    under_way = PassUnderWay(Turn(ref, 0.0, 0.0, Urgency.LIVE))
    spoiled = {"metadata": {"name": "a"}, "seen": {1, 2}}
    under_way.append(("", "", Request(Verb.PATCH, ref), spoiled, {}, "", False))
    found = PassRecord(("things", ref), EPOCH, 0.1, (), None, kept=kept_writes(under_way))

    assert [str(wrote) for wrote in found.writes] == ["patch Thing a"]
    assert [*map(tuple, found.bodies)] == [(None, None)]


def test_a_write_after_the_end_of_its_pass_is_dropped() -> None:
    """A task that a state left behind may still write; the pass is recorded already."""
    ref = ObjectRef(Thing.KIND, "a", "default")
    under_way = PassUnderWay(Turn(ref, 0.0, 0.0, Urgency.LIVE))
    under_way.append = drop
    under_way.append(("", "", Request(Verb.PATCH, ref), None, {}, "", False))

    assert under_way.ended
    assert under_way.writes == []


@given(
    st.lists(st.tuples(st.sampled_from(("a", "secret", "refused")), st.integers(0, 9)), max_size=8)
)
def test_every_write_of_a_pass_is_kept_in_order(writes: list[tuple[str, int]]) -> None:
    """Whether the pass is kept in one piece or write by write, and without values of Secrets."""
    under_way = PassUnderWay(Turn(ObjectRef(Thing.KIND, "a", "default"), 0.0, 0.0, Urgency.LIVE))
    for name, number in writes:
        kind = kinds.SECRET if name == "secret" else kinds.CONFIG_MAP
        request = Request(Verb.PATCH, ObjectRef(kind, name, "default"))
        old, new = ({"data": {"x": f"hidden{value}"}} for value in (number, number + 1))
        answer = None if name == "refused" else new
        said = "no" if name == "refused" else ""
        under_way.append(("c:a", f"c.s{number}", request, old, answer, said, False))
    kept = kept_writes(under_way) if writes else NONE
    found = PassRecord(("things", under_way.turn.key), EPOCH, 0.1, (), None, kept=kept)

    assert [(one.ref.name, one.state) for one in found.writes] == [
        (name, f"s{number}") for name, number in writes
    ]
    for (name, number), wrote, (before, after) in zip(
        writes, found.writes, found.bodies, strict=True
    ):
        assert wrote.error == ("no" if name == "refused" else "")
        shown = before and before["data"]["x"], after and after["data"]["x"]
        assert shown == (
            (f"hidden{number}", f"hidden{number + 1}") if name == "a" else (None, None)
        )
        assert wrote.fields == (("data",) if name == "secret" else ())
    assert found.bytes >= len(kept[2])


class Broken(Controller[Thing]):
    """Fails with a local value that must not stay in memory."""

    @state(initial=True)
    async def made(self, obj: Thing, out: OutputSet, ctx: Context) -> Result:
        """It never holds."""
        if obj.spec.size == 1:
            return Failed("NoLuck", "the dice were against it")
        return Wait("Later", after=timedelta(seconds=30))


def test_a_failure_is_recorded_in_words() -> None:
    """And the pass that follows it is another record."""
    with traced(Broken()) as cluster:
        cluster.apply(Thing(name="a", spec=ThingSpec(size=1)))
        cluster.advance(timedelta(seconds=1))
        first = records(cluster)[0]
        cluster.apply(Thing(name="a", spec=ThingSpec(size=2)))
        cluster.advance(timedelta(seconds=1))
        last = records(cluster)[-1]

    assert first.failure == "NoLuck: the dice were against it"
    assert first.next_pass.backoff
    assert (last.failure, last.next_pass.seconds) == ("", 30)
