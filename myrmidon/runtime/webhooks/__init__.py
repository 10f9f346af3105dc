"""Webhooks of a process: answered from the caches, served over HTTPS, with certificates that renew.

    dispatch        path to answer: runs validators within their budget, counts, logs
    conversion      answers ConversionReviews for kinds with several versions
    reads           the ``AdmissionContext`` of a validator: reads from the caches of the process
    service         the webhooks of one manager: opens, serves, checks
    server          the HTTPS server
    tls             server contexts whose certificate can be replaced; whether one verifies

Loaded only by a manager that has a webhook.
"""
