"""One module for each command of `myrmidon`."""

from importlib import import_module
from types import ModuleType

__all__ = ["command_module"]


def command_module(name: str) -> ModuleType:
    """Load the module of a command: that of ``migrate-storage`` is ``migrate_storage``."""
    return import_module(f"{__name__}.{name.replace('-', '_')}")
