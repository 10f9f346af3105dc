"""The process around the controllers.

supervision  tasks that must not end
health       probes and metrics over HTTP
lag          how late the event loop is
garbage      fewer garbage collections while the caches fill
"""
