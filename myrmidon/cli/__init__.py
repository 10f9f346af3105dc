"""The program: ``python -m myrmidon``.

main             arguments to a command
rights_check     which rights of the generated role the server does not grant
completions      completion scripts for shells
parser           short answers to wrong arguments
progress         the line that says what a slow command does, on a terminal
commands/        one module for each command
local/           the embedded server on this machine, and the live view of ``myrmidon dev``
targets          from the argument TARGET to controller classes
samples          the files sample*.yaml beside the controllers
projects         the controller in a folder with a pyproject.toml
scaffold/        the project that ``myrmidon init`` writes
import_errors    what is wrong with a module that cannot be imported
planned_writes   the writes of a planned pass in words
external_calls   calls of states that may reach another system
files            files that a command writes
settings         options from flags, environment and file
clusters         the flags that choose a cluster
named_objects    the arguments that name an object, and how it is found
remote_clusters  the flags that name other clusters
event_loops      asyncio's event loop or uvloop
"""

__all__: list[str] = []
