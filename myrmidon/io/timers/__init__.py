"""Timers, and turns of the event loop.

clock           reads the clock of the event loop
deadlines       timeouts for many tasks, on one timer
shared_timer    one timer for many times: fires at the earliest
wakeup          wakes idle workers, one at a time, now or at a set time
pacing          ends a turn of the event loop after 10 ms of work
"""

__all__: list[str] = []
