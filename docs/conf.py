"""How the documentation is built: Markdown in, warnings are errors."""

project = "myrmidon"
author = "the myrmidon maintainers"
extensions = ["myst_parser", "sphinx.ext.autodoc"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "myrmidon"
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints = "description"
nitpicky = False
