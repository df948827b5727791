"""From findings to pages: HTML and Markdown, figures, the terminal's summary, exports.

Reads a results folder and its analysis, never a testbed. Modules are imported on demand: loading
the figures takes a second.
"""
