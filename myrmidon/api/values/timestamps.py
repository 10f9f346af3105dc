"""Timestamps of the Kubernetes API: RFC 3339, in UTC.

``metav1.Time`` has whole seconds, ``metav1.MicroTime`` exactly six digits after the point.  Fields of
custom resources (``format: date-time``) keep any fraction.  What the API server accepts, and with
which error it refuses the rest, is in ``apiserver/golang/times.py``.
"""

from datetime import UTC, datetime


def write_time(moment: datetime) -> str:
    """Return the time as Kubernetes writes it, in whole seconds: ``2026-01-02T03:04:05Z``."""
    return f"{moment.astimezone(UTC).isoformat()[:19]}Z"


def write_micro_time(moment: datetime) -> str:
    """Return the time with six digits after the point, as in a Lease: ``2026-01-02T03:04:05.000000Z``."""
    return f"{moment.astimezone(UTC).isoformat(timespec='microseconds')[:26]}Z"


def write_exact_time(moment: datetime) -> str:
    """Return the time with a fraction if it has one, for fields of custom resources."""
    return f"{moment.astimezone(UTC).isoformat()[:-6]}Z"


def read_time(text: str) -> datetime:
    """Return the time, aware and in UTC; raises ``ValueError``.

    Lenient, because the texts come from servers and plugins that we do not control: a fraction may
    have any length, and a time without a zone is in UTC.
    """
    moment = datetime.fromisoformat(text)
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
