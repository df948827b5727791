"""Turns findings into pages: HTML and Markdown, figures, the summary on the terminal, exports.
Reads only a results folder and its analysis, never a testbed. Modules are imported on demand:
loading the figures takes a second."""
