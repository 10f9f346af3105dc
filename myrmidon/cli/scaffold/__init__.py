"""The project that ``myrmidon init`` writes.

names         the names that follow from the folder and the group, checked
requirements  the versions of the dependencies that the image installs
files         paths and contents
templates/    the contents, with {{name}} for what differs between projects
"""

__all__: list[str] = []
