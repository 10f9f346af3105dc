"""The work queue of a controller.

queue        which key is reconciled next
delays       keys that are due later
inbox        keys from other threads
requeueing   when a key gets its next pass without a change
backoff      the delay after failures
retries      counts failures of an object, and when they are given up
rate_limits  passes of one object, and retries of all, per time
"""
