"""Computes findings from records: functions take arrays and return frozen dataclasses. Nothing here
prints or draws."""
