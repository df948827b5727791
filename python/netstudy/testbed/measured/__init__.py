"""Runs that were measured elsewhere, as a testbed: nothing is executed."""
