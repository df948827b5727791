"""Turns findings into pages: HTML and Markdown, figures, the summary on the terminal, exports. It
reads only a results folder and its analysis, and never uses a testbed. Modules are imported on
demand: loading the figures takes a second."""
