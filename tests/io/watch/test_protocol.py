"""The rules of the watch protocol, one by one.  Each name is the rule."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from myrmidon.errors import AmbiguousError, ApiError, api_error
from myrmidon.io.lists.events import Listing, WatchEvent
from myrmidon.io.watch.actions import Ask, List, Pause, WatchFrom
from myrmidon.io.watch.protocol import Timing, Watching
from tests.io.model_server import config_map, expired, refusal


def started(version: str = "10", *, streaming: bool = False) -> Watching:
    """Return a protocol whose list is complete and whose watch is open."""
    watching = Watching(jitter=lambda: 0.5, streaming=streaming)
    watching.on_page([], version, "", 0.0)
    watching.on_open(0.0)
    return watching


def event(version: int, type_: str = "MODIFIED", name: str = "a") -> WatchEvent:
    """Build an event of an object."""
    return WatchEvent(type_, config_map(name, f"{name}-uid", version))


def too_new() -> ApiError:
    """Build the refusal of a replica that lags behind."""
    causes = [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]
    return api_error(504, {"reason": "Timeout", "details": {"causes": causes}})


def waited(watching: Watching) -> List | WatchFrom:
    """Return the action after the wait that must come now."""
    assert isinstance(watching.action, Pause)
    then = watching.action.then
    watching.on_waited()
    return then


def test_it_begins_with_a_list() -> None:
    """Pages if streaming is off, otherwise a streaming list without a version."""
    assert Watching(jitter=lambda: 0.5, streaming=False).action == List()
    action = Watching(jitter=lambda: 0.5).action
    assert isinstance(action, WatchFrom)
    assert action.initial
    assert action.resource_version == ""


def test_a_watch_begins_where_the_list_ended() -> None:
    """At exactly its version."""
    action = started("17").action
    assert isinstance(action, WatchFrom)
    assert action.resource_version == "17"


def test_bookmarks_move_the_position() -> None:
    """Otherwise a quiet kind would resume from a version that is compacted away."""
    watching = started()
    mark = WatchEvent("BOOKMARK", {"metadata": {"resourceVersion": "99"}})
    assert watching.on_event(mark, 1.0) == mark
    watching.on_end(60.0)
    assert isinstance(watching.action, WatchFrom)
    assert watching.action.resource_version == "99"


@given(versions=st.lists(st.integers(1, 40)))
def test_only_newer_events_pass(versions: list[int]) -> None:
    """Rule 3, for any order in which a server may repeat events."""
    watching = started("10")
    passed = [v for v in versions if watching.on_event(event(v), 1.0) is not None]
    assert passed == sorted(set(passed))
    assert all(version > 10 for version in passed)


@pytest.mark.parametrize("begin", ["opaque", "10"])
def test_versions_that_are_not_numbers_pass(begin: str) -> None:
    """Some aggregated servers have them, and they cannot be ordered."""
    watching = started(begin)
    first = WatchEvent("ADDED", {"metadata": {"name": "a", "resourceVersion": "zz"}})
    second = WatchEvent("MODIFIED", {"metadata": {"name": "a", "resourceVersion": "aa"}})
    assert watching.on_event(first, 1.0) is not None
    assert watching.on_event(second, 1.0) is not None


def test_the_first_410_lists_at_once_and_the_next_waits() -> None:
    """A server that compacts faster than we list must not be asked without end."""
    watching = started()
    watching.on_error(expired())
    assert watching.action == List()
    watching.on_page([], "20", "", 1.0)
    watching.on_open(1.0)
    watching.on_error(expired())
    assert waited(watching) == List()


def test_a_replica_that_is_behind_is_asked_again_and_then_listed() -> None:
    """Rule 7: after three times "too new" a consistent list follows."""
    watching = started("10")
    actions = []
    for _ in range(3):
        watching.on_error(too_new())
        actions.append(waited(watching))
    assert [type(action) for action in actions] == [WatchFrom, WatchFrom, List]


def test_an_older_list_is_accepted_only_if_it_is_repeated() -> None:
    """Rule 9: a stale replica is waited for, a restored backup is accepted."""
    watching = started("10")
    watching.on_error(expired())
    for _ in range(2):
        assert watching.on_page([config_map("a", "u", 3)], "5", "", 1.0) is None
        assert waited(watching) == List()
    listing = watching.on_page([config_map("a", "u", 3)], "5", "", 1.0)
    assert listing is not None
    assert listing.forgets
    assert watching.on_event(event(6), 2.0) is not None


def test_a_list_whose_version_is_not_a_number_is_accepted() -> None:
    """It cannot be compared."""
    watching = started("10")
    watching.on_error(expired())
    assert watching.on_page([], "opaque", "", 1.0) is not None


def test_older_lists_count_only_in_a_row() -> None:
    """Another list between them starts the count again."""
    watching = started("10")
    watching.on_error(expired())
    assert watching.on_page([], "5", "", 1.0) is None
    watching.on_waited()
    listing = watching.on_page([], "12", "", 1.0)
    assert listing is not None
    assert not listing.forgets


def test_retry_after_is_obeyed_within_reason() -> None:
    """At least the time asked for, but never an hour by mistake."""
    watching = started()
    watching.on_error(api_error(429, None, retry_after=7.0))
    assert isinstance(watching.action, Pause)
    assert watching.action.seconds == 7.0

    watching = started()
    watching.on_error(api_error(429, None, retry_after=3600.0))
    assert isinstance(watching.action, Pause)
    assert watching.action.seconds == Timing().retry_after_seconds_max


@given(jitter=st.floats(0, 1), count=st.integers(1, 40))
def test_waits_grow_and_are_bounded(jitter: float, count: int) -> None:
    """Rule 8: retries are neither too frequent nor too rare."""
    watching = Watching(jitter=lambda: jitter, streaming=False)
    seconds = []
    for _ in range(count):
        watching.on_error(AmbiguousError("reset"))
        assert isinstance(watching.action, Pause)
        seconds.append(watching.action.seconds)
        watching.on_waited()
    assert seconds == sorted(seconds)
    assert seconds[0] > 0
    assert seconds[-1] <= Timing().backoff_seconds_max


def test_a_page_that_failed_is_asked_for_again() -> None:
    """Not the whole list: with fifty thousand objects it might never complete."""
    watching = Watching(jitter=lambda: 0.5, streaming=False)
    watching.on_page([], "10", "token", 0.0)
    watching.on_error(refusal(500))
    assert waited(watching) == List("token")


def test_a_page_whose_continue_token_expired_is_not_asked_for_again() -> None:
    """Rule 2: the whole list is read in one request."""
    watching = Watching(jitter=lambda: 0.5, streaming=False)
    watching.on_page([], "10", "token", 0.0)
    watching.on_error(expired())
    assert watching.action == List(whole=True)


def test_a_404_leads_to_a_list() -> None:
    """A kind that was removed and installed again has other objects."""
    watching = started()
    watching.on_error(refusal(404))
    assert waited(watching) == List()


def test_a_streaming_list_continues_as_the_watch() -> None:
    """The final bookmark completes the list; the stream stays open."""
    watching = Watching(jitter=lambda: 0.5)
    action = watching.action
    watching.on_open(0.0)
    first = watching.on_event(event(7, "ADDED", "b"), 0.0)
    second = watching.on_event(event(5, "ADDED", "c"), 0.0)
    mark = {"resourceVersion": "9", "annotations": {"k8s.io/initial-events-end": "true"}}
    end = watching.on_event(WatchEvent("BOOKMARK", {"metadata": mark}), 0.0)
    assert watching.action is action
    assert watching.synced
    assert [first.begins, second.begins, end.completes] == [True, False, True]  # type: ignore[union-attr]
    assert watching.on_event(event(9), 1.0) is None
    assert watching.on_event(event(10), 1.0) is not None


def test_a_streaming_list_without_objects_is_complete() -> None:
    """Only the final bookmark arrives, and all cached objects are removed."""
    watching = Watching(jitter=lambda: 0.5)
    watching.on_open(0.0)
    mark = {"resourceVersion": "9", "annotations": {"k8s.io/initial-events-end": "true"}}
    listing = watching.on_event(WatchEvent("BOOKMARK", {"metadata": mark}), 0.0)
    assert listing is not None
    assert listing.begins  # type: ignore[union-attr]
    assert listing.completes  # type: ignore[union-attr]


def test_a_server_without_streaming_lists_is_asked_in_pages() -> None:
    """If it refuses, is silent, never completes, or breaks off each time."""
    refused = Watching(jitter=lambda: 0.5)
    refused.on_error(refusal(422))
    assert refused.action == List()

    silent = Watching(jitter=lambda: 0.5)
    silent.on_open(0.0)
    silent.on_idle(90.0)
    assert silent.action == List()

    endless = Watching(jitter=lambda: 0.5)
    endless.on_open(0.0)
    endless.on_event(event(5), 1000.0)
    assert endless.action == List()

    breaking = Watching(jitter=lambda: 0.5)
    actions = []
    for _ in range(3):
        breaking.on_open(0.0)
        breaking.on_error(AmbiguousError("reset"))
        actions.append(waited(breaking))
    assert [type(action) for action in actions] == [WatchFrom, WatchFrom, List]


def test_a_silent_watch_reads_and_resumes_from_its_position() -> None:
    """Rule 6: silence may mean that nothing happens, so the server is asked first."""
    watching = started("10")
    assert watching.idle_at == Timing().idle_seconds
    watching.on_idle(90.0)
    assert watching.action == Ask()
    watching.on_answer("12", 91.0)
    assert isinstance(watching.action, WatchFrom)
    assert watching.action.resource_version == "10"  # events up to 12 are still to be delivered
    assert watching.fresh_at == 91.0


def test_an_opened_watch_does_not_prove_freshness() -> None:
    """A server without its storage opens watches that stay silent."""
    watching = started("10")
    for now in (60.0, 120.0, 180.0):
        watching.on_end(now)
        watching.on_open(now)
        assert watching.fresh_at == 0.0
        assert watching.idle_at == max(90.0, now)  # silence is counted over all of them


@given(lines=st.lists(st.tuples(st.sampled_from(["ADDED", "BOOKMARK"]), st.integers(1, 50))))
def test_every_line_counts_as_fresh(lines: list[tuple[str, int]]) -> None:
    """Also a repeated one; an error does not."""
    watching = started("10")
    for now, (type_, version) in enumerate(lines, 1):
        watching.on_event(event(version, type_), float(now))
        assert (watching.fresh_at, watching.idle_at) == (now, now + 90.0)
    before = watching.fresh_at
    watching.on_event(WatchEvent("ERROR", {"code": 500}), 1000.0)
    assert watching.fresh_at == before


def test_without_a_response_the_watch_is_opened_again_and_the_server_asked_again() -> None:
    """Reads may fail while watches work; the next read comes sooner, but not at once."""
    watching = started("10")
    now, patience = 90.0, []
    for _ in range(9):
        watching.on_idle(now)
        watching.on_error(AmbiguousError("no answer in 10 s"))
        assert isinstance(watching.action, WatchFrom)
        assert watching.action.resource_version == "10"
        watching.on_open(now)
        patience.append(watching.idle_at - now)
        now = watching.idle_at
    assert patience == sorted(patience)
    assert 0.2 < patience[0] < 1.0
    assert 10.0 < patience[-1] <= Timing().backoff_seconds_max
    assert watching.fresh_at == 0.0
    assert str(watching.fault) == "no answer in 10 s"
    watching.on_event(event(11), now)
    assert (watching.fresh_at, watching.fault, watching.idle_at) == (now, None, now + 90.0)


def test_a_read_of_an_older_version_does_not_count() -> None:
    """A replica that lags behind cannot know what we have missed."""
    watching = started("10")
    watching.on_idle(90.0)
    watching.on_answer("9", 91.0)
    assert watching.fresh_at == 0.0
    assert "older" in str(watching.fault)
    assert isinstance(watching.action, WatchFrom)


def test_a_404_to_the_freshness_read_leads_to_a_list() -> None:
    """Rule 8, as for a watch."""
    watching = started()
    watching.on_idle(90.0)
    watching.on_error(refusal(404))
    assert waited(watching) == List()


def test_a_streaming_list_gets_its_full_time() -> None:
    """Silence before the list does not count against it."""
    watching = Watching(jitter=lambda: 0.5)
    watching.on_open(0.0)
    mark = {"resourceVersion": "9", "annotations": {"k8s.io/initial-events-end": "true"}}
    watching.on_event(WatchEvent("BOOKMARK", {"metadata": mark}), 0.0)
    watching.on_error(expired())
    watching.on_open(500.0)
    assert watching.idle_at == 590.0


def test_unknown_events_are_skipped() -> None:
    """A later version of the protocol may have more types."""
    watching = started()
    action = watching.action
    assert watching.on_event(WatchEvent("SNAPSHOT", {}), 1.0) is None
    assert watching.action is action


def test_a_streaming_list_that_the_server_ends_is_read_in_pages() -> None:
    """It ends a watch after the time that we ask for, also in the middle of a list."""
    watching = Watching(jitter=lambda: 0.0)
    watching.on_open(0.0)
    for second in range(0, 300, 50):
        watching.on_event(event(100 + second, "ADDED", f"o{second}"), float(second))
    watching.on_end(300.0)
    assert watching.action == List()


def test_a_streaming_list_without_end_is_read_in_pages() -> None:
    """From a server without streaming lists that has new objects all the time."""
    watching, now = Watching(jitter=lambda: 0.5), 0.0
    watching.on_open(now)
    while isinstance(watching.action, WatchFrom) and now < 3600.0:
        now += 50.0
        watching.on_event(event(100 + int(now), "ADDED", f"o{now}"), now)
    assert watching.action == List()


@pytest.mark.parametrize("version", ["", "zz", "-4", str(2**63), str(2**64)])
def test_an_invalid_version_does_not_move_the_position(version: str) -> None:
    """K2: watching from there would lose deletions, or make later events look like repetitions."""
    watching = started("10")
    odd = {"name": "odd", "resourceVersion": version}
    assert watching.on_event(WatchEvent("ADDED", {"metadata": odd}), 1.0) is not None
    assert watching.on_event(WatchEvent("BOOKMARK", {"metadata": odd}), 1.0) is not None
    assert watching.on_event(event(11), 1.0) is not None
    watching.on_end(60.0)
    assert isinstance(watching.action, WatchFrom)
    assert watching.action.resource_version == "11"


def test_an_event_without_a_version_leaves_a_position_that_is_not_a_number() -> None:
    """K2: without a position a watch begins at any past version."""
    watching = started("opaque")
    assert watching.on_event(WatchEvent("BOOKMARK", {"metadata": {}}), 1.0) is not None
    watching.on_end(60.0)
    assert isinstance(watching.action, WatchFrom)
    assert watching.action.resource_version == "opaque"


def test_a_server_may_have_versions_of_more_than_64_bits() -> None:
    """In this case all versions are so large, including that of its list."""
    watching = started(str(2**70))
    assert watching.on_event(event(2**70 + 1), 1.0) is not None
    assert watching.on_event(event(2**70), 1.0) is None


@pytest.mark.parametrize("status", [400, 422])
def test_a_position_that_is_refused_leads_to_a_list(status: int) -> None:
    """Repeating the same request would never end."""
    watching = started("10")
    actions = []
    for _ in range(3):
        watching.on_error(refusal(status))
        actions.append(waited(watching))
        watching.on_open(0.0)
    assert [type(action) for action in actions] == [WatchFrom, WatchFrom, List]


def test_a_page_that_leads_to_itself_is_an_error() -> None:
    """A list whose pages name the same next page would never end."""
    watching = Watching(jitter=lambda: 0.5, streaming=False)
    assert watching.on_page([], "10", "next", 0.0) is not None
    assert watching.on_page([], "10", "next", 0.0) is None
    assert waited(watching) == List("next")


def test_a_response_that_was_not_handled_leads_to_a_list() -> None:
    """The position has moved already: watching from there would lose the event."""
    watching = started("10")
    watching.on_event(event(11), 1.0)
    watching.on_broken(AmbiguousError("a mistake of ours"))
    assert waited(watching) == List()
    watching = started("10")
    watching.on_error(refusal(500))
    action = watching.action
    watching.on_broken(AmbiguousError("a mistake of ours"))
    assert watching.action is action


def test_an_event_that_is_not_for_the_cache_counts_as_heard() -> None:
    """The watch is fresh and not suspect; its position stays, so nothing of ours is skipped."""
    watching = started("10")
    assert watching.on_foreign(7.0) is None
    assert watching.fresh_at == 7.0
    watching.on_end(7.5)
    action = watching.action
    assert isinstance(action, WatchFrom)
    assert (action.resource_version, action.initial) == ("10", False)


def test_a_streaming_list_may_begin_with_an_object_that_is_not_for_the_cache() -> None:
    """The cache is told once that a list begins; the objects of others are progress."""
    watching = Watching(jitter=lambda: 0.5, timing=Timing(progress_seconds=10.0))
    watching.on_open(0.0)
    assert watching.is_listing
    begun = watching.on_foreign(9.0)
    assert begun is not None
    assert (list(begun.items), begun.begins, begun.completes) == ([], True, False)
    assert watching.on_foreign(18.0) is None
    item = watching.on_event(event(5, "ADDED"), 27.0)
    assert isinstance(item, Listing)
    assert not item.begins
    assert watching.on_foreign(36.0) is None
    assert watching.on_foreign(47.0) is None
    assert watching.action == List()  # no object for longer than progress_seconds


@pytest.mark.parametrize("relists", [False, True])
def test_another_part_of_the_objects(relists: bool) -> None:
    """More objects need a list; fewer do not, unless the list before was not complete."""
    watching = started("10")
    watching.on_part_changed(relists=relists)
    assert watching.is_listing is relists
    watching.on_part_changed(relists=False)
    assert watching.is_listing is relists


def test_another_part_does_not_cut_a_pause_short() -> None:
    """A server that asked for patience gets it."""
    watching = started("10")
    watching.on_error(refusal(429))
    assert isinstance(watching.action, Pause)
    seconds = watching.action.seconds
    watching.on_part_changed(relists=True)
    assert isinstance(watching.action, Pause)
    assert watching.action.seconds == seconds
    assert waited(watching) == List()
    assert watching.is_listing
