"""The report's sentences, computed from what analysis found; no number is typed."""
