"""The program: ``python -m myrmidon``.

main          arguments to a command
commands/     one module for each command
targets/      from the argument TARGET to controller classes
arguments/    arguments that several commands share: cluster, object, settings, files
plans/        what ``myrmidon plan`` prints
local/        the embedded server on this machine, and the live view of ``myrmidon dev``
scaffold/     the project that ``myrmidon init`` writes
processes     several processes on one machine that share the objects
progress      the line that says what a slow command does, on a terminal
signals       what happens at Ctrl-C and SIGTERM
rights_check  which rights of the generated role the server does not grant
completions   completion scripts for shells
"""

__all__: list[str] = []
