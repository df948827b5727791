"""The report's sentences, computed from the analysis; no number is typed by hand."""
