"""When to write again what another client undoes each time: the limits that all stalls share.

The first ``REPEATS_MAX`` repetitions are sent at once.  After them the pause is a minute, and doubles
up to ten minutes while the other client goes on.  ``contested_fields`` uses this for fields that are
changed back, ``vanished_children`` for children that are deleted.
"""

REPEATS_MAX = 5
"""How often a write is repeated without a pause."""
WINDOW_SECONDS = 600.0
"""A repetition later than this after the write before it does not count."""
HOLD_SECONDS = 10.0
"""A stall is reported until the object has been as declared for this time."""
DELAY_SECONDS_MIN, DELAY_SECONDS_MAX = 60.0, 600.0
KEEP_SECONDS = 2 * DELAY_SECONDS_MAX
"""A stall without any write for this time is forgotten."""


def next_delay(delay: float, *, waited: bool) -> float:
    """Return the pause before the next write; it doubles if this write had to wait for its own."""
    return min(max(2 * delay if waited else delay, DELAY_SECONDS_MIN), DELAY_SECONDS_MAX)


def is_series_over(written_at: float, delay: float, now: float) -> bool:
    """Whether the last write lasted so long that the next one begins a new series."""
    return now - written_at > max(WINDOW_SECONDS, 2 * delay)
