"""Bounds of throughput: their candidates, and the verdict at each level of a load."""
