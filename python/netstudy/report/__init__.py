"""From findings to pages: HTML and Markdown, figures, the terminal's summary, exports.

Reads a results folder and what analysis found in it, never a testbed. Nothing is imported before
it is needed: figures cost a second to load.
"""
