"""Controllers inside of the server: what a cluster does by itself, in small.

Each is an ``Actor`` and can be left out.  ``GarbageCollector`` and ``NamespaceController`` do what
their namesakes do; the others stand in for kubelets and built-in controllers, so that a Deployment
can become available where there is no machine to run it.
"""

from myrmidon.apiserver.actors.collector import GarbageCollector
from myrmidon.apiserver.actors.namespaces import NamespaceController

__all__ = ["GarbageCollector", "NamespaceController"]
