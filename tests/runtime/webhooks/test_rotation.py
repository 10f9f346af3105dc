"""Certificates are rotated so that every API server trusts every replica at every moment."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from myrmidon.errors import UsageError
from myrmidon.runtime.webhooks.rotation import (
    CertificateTerms,
    HeldCertificates,
    Issued,
    RotationStep,
    TrustMemory,
    next_step,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TERMS = CertificateTerms(
    authority=timedelta(hours=9),
    serving=timedelta(hours=3),
    propagation=timedelta(seconds=30),
    overlap=timedelta(minutes=10),
)
NAMES = ("a.svc",)


def issued(name: str, age: timedelta, life: timedelta) -> Issued:
    """Return a certificate of a certain age."""
    return Issued(name, NOW - age, NOW - age + life)


def held(
    *ages: timedelta,
    serving: timedelta = timedelta(0),
    issuer: str = "ca-0",
    names: frozenset[str] = frozenset(NAMES),
) -> HeldCertificates:
    """Return certificates: authorities of these ages, the newest first, and a serving one."""
    authorities = [issued(f"ca-{index}", age, TERMS.authority) for index, age in enumerate(ages)]
    return HeldCertificates(tuple(authorities), issued("s", serving, TERMS.serving), issuer, names)


def step(found: HeldCertificates | None, trusted: tuple[str, ...] = ("ca-0",)) -> RotationStep:
    """Return the next step now."""
    return next_step(found, NOW, trusted, NAMES, TERMS)


MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


def test_certificates_are_made_when_there_are_none() -> None:
    """Also if the Secret holds something that cannot be used."""
    assert step(None) is RotationStep.CREATE
    assert step(held()) is RotationStep.CREATE


def test_a_serving_certificate_is_renewed_when_a_third_of_its_life_is_left() -> None:
    """By the same authority."""
    assert step(held(HOUR, serving=2 * HOUR - MINUTE)) is RotationStep.NONE
    assert step(held(HOUR, serving=2 * HOUR)) is RotationStep.SERVE


def test_a_certificate_for_other_names_is_replaced() -> None:
    """The Service was renamed, or the namespace is another one."""
    assert step(held(HOUR, names=frozenset({"b.svc"}))) is RotationStep.SERVE


def test_a_new_authority_signs_only_after_it_is_trusted_everywhere() -> None:
    """Injected, and the time for API servers to read it has passed since then."""
    assert step(held(6 * HOUR)) is RotationStep.ADD
    both = held(MINUTE, 6 * HOUR, issuer="ca-1")
    assert step(both, trusted=("ca-1",)) is RotationStep.NONE
    assert step(both) is RotationStep.SERVE


def test_trust_counts_from_the_injection() -> None:
    """Also if it was late; an authority that is taken out and put back begins anew."""
    memory = TrustMemory()
    second = timedelta(seconds=1)
    assert memory.settled(["a"], NOW, TERMS) == set()
    assert memory.settled(["a", "b"], NOW + 29 * second, TERMS) == set()
    assert memory.settled(["a", "b"], NOW + 30 * second, TERMS) == {"a"}
    assert memory.settled(["b"], NOW + 59 * second, TERMS) == {"b"}
    assert memory.settled(["a", "b"], NOW + 60 * second, TERMS) == {"b"}


def test_an_old_authority_leaves_when_every_replica_has_the_new_certificate() -> None:
    """Not before the overlap is over."""
    assert step(held(MINUTE, 6 * HOUR, serving=9 * MINUTE)) is RotationStep.NONE
    assert step(held(MINUTE, 6 * HOUR, serving=10 * MINUTE)) is RotationStep.DROP


def test_a_certificate_that_is_over_is_replaced_at_once() -> None:
    """Nothing can get worse: after a long pause, or if its authority was removed by hand."""
    over = held(timedelta(0), 6 * HOUR, serving=3 * HOUR, issuer="ca-1")
    assert step(over, trusted=()) is RotationStep.SERVE
    assert step(held(timedelta(0), issuer=""), trusted=()) is RotationStep.SERVE


@pytest.mark.parametrize("name", ["authority", "serving"])
def test_terms_that_leave_no_time_for_a_rotation_are_refused(name: str) -> None:
    """The last third of a life must be longer than a change takes to arrive everywhere."""
    with pytest.raises(UsageError, match=f"CertificateTerms.{name} is 0:30:00"):
        CertificateTerms(**{name: timedelta(minutes=30)})


@pytest.mark.law("H3")
@given(
    st.lists(st.integers(0, 29), min_size=1, max_size=40),
    st.lists(st.integers(0, 599), min_size=1, max_size=40),
    st.integers(10, 60),
    st.lists(st.integers(0, 180), min_size=1, max_size=20),
)
@settings(max_examples=40)
def test_every_api_server_trusts_every_replica_at_every_moment(
    propagations: list[int], reloads: list[int], poll: int, injections: list[int]
) -> None:
    """Hours of rotations, with any delay of the two that the terms allow.

    A bundle is injected some minutes after it was stored; an API server sees it up to
    ``propagation`` after that; a replica loads a certificate up to ``overlap`` after it was stored;
    the leader looks every ``poll`` seconds.
    """
    bundles: list[tuple[datetime, frozenset[str]]] = []  # injected, with the time of it
    stored, stored_at, memory = frozenset[str](), NOW, TrustMemory()
    servings: list[tuple[datetime, str, datetime]] = []  # stored: when, issuer, end
    now, made, state = NOW, 0, None
    for _ in range(4 * 3600 // poll):
        late = timedelta(seconds=injections[made % len(injections)])
        if stored and now - stored_at >= late and (not bundles or bundles[-1][1] != stored):
            bundles.append((now, stored))
        injected = bundles[-1][1] if bundles else frozenset()
        trusted = memory.settled(injected, now, TERMS)
        todo = next_step(state, now, trusted, NAMES, TERMS)
        if todo in (RotationStep.CREATE, RotationStep.ADD):
            made += 1
            fresh = Issued(f"ca-{made}", now, now + TERMS.authority / 6)
            others = state.authorities if state else ()
            serving = state.serving if state else Issued("s", now, now + TERMS.serving / 4)
            issuer = state.issuer if state else fresh.fingerprint
            state = HeldCertificates((fresh, *others), serving, issuer, frozenset(NAMES))
        elif todo is RotationStep.SERVE:
            assert state is not None
            serving = Issued("s", now, now + TERMS.serving / 4)
            issuer = state.authorities[0].fingerprint
            state = HeldCertificates(state.authorities, serving, issuer, state.names)
        elif todo is RotationStep.DROP:
            assert state is not None
            state = HeldCertificates(
                state.authorities[:1], state.serving, state.issuer, state.names
            )
        assert state is not None
        if todo is not RotationStep.NONE:
            servings.append((now, state.issuer, state.serving.ends_at))
            stored = frozenset(each.fingerprint for each in state.authorities)
            stored_at = now
        slow = timedelta(seconds=propagations[made % len(propagations)])
        lazy = timedelta(seconds=reloads[made % len(reloads)])
        seen = [bundle for at, bundle in bundles if at <= now - slow]
        used = [(issuer, end) for at, issuer, end in servings if at <= now - lazy] or [
            servings[0][1:]
        ]
        for issuer, end in (used[-1], servings[-1][1:]) if seen else ():
            assert issuer in seen[-1]
            assert end > now
        now += timedelta(seconds=poll)
    assert made > 1
