"""Plans of runs that were measured elsewhere: from tables and from files of measurements."""
